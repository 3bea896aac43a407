package vulkan

import (
	"strings"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// Defect is a fault of some drivers that shaders avoid.
type Defect struct {
	// VendorID and DeviceID are numbers of the devices, and Type and Driver their type and a part of
	// their driver's name; 0 and empty for all. Below is the first version of the driver without the
	// defect; 0 if there is none.
	VendorID, DeviceID, Below uint32
	Type, Driver              string
	What                      string
	mostLoop                  int // loop iterations of an invocation; 0 for no bound
}

// defects lists the known defects.
var defects = []Defect{
	{Type: "cpu", Driver: "llvmpipe", What: "loops of an invocation end after 65535 iterations", mostLoop: 1 << 15},
}

// has reports whether a device has the defect.
func (x *Defect) has(i *vk.Info) bool {
	return (x.VendorID == 0 || x.VendorID == i.VendorID) && (x.DeviceID == 0 || x.DeviceID == i.DeviceID) &&
		(x.Below == 0 || i.DriverVersion < x.Below) && (x.Type == "" || x.Type == i.Type) &&
		strings.Contains(strings.ToLower(i.Driver), strings.ToLower(x.Driver))
}

// Defects lists the known defects of a device.
func Defects(i *vk.Info) (list []Defect) {
	for _, x := range defects {
		if x.has(i) {
			list = append(list, x)
		}
	}
	return list
}

// mostLoop returns the most loop iterations that one invocation may take in all.
func (d *Device) mostLoop() int {
	most := 1 << 24
	for _, x := range Defects(&d.info) {
		if x.mostLoop > 0 {
			most = min(most, x.mostLoop)
		}
	}
	return most
}
