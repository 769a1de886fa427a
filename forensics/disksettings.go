package forensics

import "github.com/nodeforensics/nodeforensics/forensics/eviction"

// DiskSettings are what the kubelet was told about disks; minor is its minor version, 0 if unknown.
func (e *Evidence) DiskSettings(minor int) eviction.Settings {
	k := e.Kubelet
	if k == nil {
		return eviction.Settings{Minor: minor}
	}
	s := eviction.Settings{Flags: k.Flags, Minor: minor, Program: k.Program}
	if c := k.Config; c != nil {
		s.EvictionHard, s.EvictionSoft, s.SoftGracePeriod = c.EvictionHard, c.EvictionSoft, c.EvictionSoftGracePeriod
		s.MergeDefaults = c.MergeDefaultEviction != nil && *c.MergeDefaultEviction
		s.HighPercent, s.LowPercent, s.MaximumGCAge = c.ImageGCHighThreshold, c.ImageGCLowThreshold, c.ImageMaximumGCAge
	}
	return s
}
