package chelis

import "errors"

// The kinds of refusal, for errors.Is.
var (
	ErrWeightTooLarge        = errors.New("WeightTooLarge")
	ErrUnsupportedOpset      = errors.New("UnsupportedOpset")
	ErrUnsupportedDtype      = errors.New("UnsupportedDtype")
	ErrUnsupportedOperator   = errors.New("UnsupportedOperator")
	ErrUnsupportedShape      = errors.New("UnsupportedShapePattern")
	ErrInternalInconsistency = errors.New("InternalInconsistency")
	ErrWeightConversion      = errors.New("WeightConversionFailure")
)
