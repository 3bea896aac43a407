package optimize

// RowOperands are the operators that compute each row apart.
var RowOperands = rowOperands
