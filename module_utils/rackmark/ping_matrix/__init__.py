"""The network between Ascend devices: who takes part, who reaches whom, and what explains that somebody does not."""
