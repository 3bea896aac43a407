package op

// families lists the rows of every family of operators, one line per file.
func families() [][]Row {
	return [][]Row{
		castRows,
		constantRows,
		convRows,
		eltwiseRows,
		logicRows,
		matmulRows,
		moveRows,
		normRows,
		poolRows,
		reduceRows,
		resizeRows,
		shapeRows,
	}
}
