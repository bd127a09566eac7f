theoryflops = 312e12
