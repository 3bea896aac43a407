package op

var resizeRows = []Row{}
