package yaml

type Decoder struct{ C chan int }

func (d *Decoder) Decode() { <-d.C }
