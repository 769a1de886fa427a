// Package nestedpendingoperations runs one operation a volume.
package nestedpendingoperations

type nestedPendingOperations struct{ running int }

// New makes one.
func New() *nestedPendingOperations { return &nestedPendingOperations{} }

// Run starts an operation.
func (grm *nestedPendingOperations) Run(operation func() error) {
	go func() {
		if err := operation(); err != nil {
			grm.running--
		}
	}()
}
