"""What a goal is made of besides its sentence. Pure: the control plane checks at submit what the host reads again."""
