package optimize

// RowOperands lists the operators that compute each row on its own.
var RowOperands = rowOperands
