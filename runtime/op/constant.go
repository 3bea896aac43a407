package op

var constantRows = []Row{}
