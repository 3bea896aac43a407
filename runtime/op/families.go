package op

// families lists the rows of every family of operators, one line per file.
func families() [][]Row {
	return [][]Row{
		bitRows,
		castRows,
		concatRows,
		constantRows,
		controlRows,
		convRows,
		detRows,
		detectRows,
		dropoutRows,
		elementRows,
		eltwiseRows,
		eyeLikeRows,
		gatherRows,
		logicRows,
		matmulRows,
		moveRows,
		normRows,
		optionalRows,
		padRows,
		pickRows,
		poolRows,
		reduceRows,
		resizeRows,
		reverseRows,
		scatterRows,
		sequenceRows,
		shapeRows,
		signalRows,
		sliceRows,
		triluRows,
	}
}
