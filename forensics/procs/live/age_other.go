//go:build !linux

package live

import "github.com/nodeforensics/nodeforensics/internal/hostfs"

func cpuClock(*hostfs.FS, int) (float64, error) { return 0, errNoClock }

func threadID() int { return 0 }

func ownPID() int { return 0 }
