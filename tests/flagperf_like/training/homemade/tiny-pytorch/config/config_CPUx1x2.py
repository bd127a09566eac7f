train_batch_size = 4
amp = False
target_acc1 = 0.7
max_steps = 6
