// Package criapi is a client as protoc writes it.
package criapi

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

type runtimeServiceClient struct{ cc grpc.ClientConnInterface }

// NewRuntimeServiceClient makes one.
func NewRuntimeServiceClient(cc grpc.ClientConnInterface) *runtimeServiceClient {
	return &runtimeServiceClient{cc}
}

func (c *runtimeServiceClient) ListPodSandbox(ctx context.Context, in *emptypb.Empty, opts ...grpc.CallOption) (*emptypb.Empty, error) {
	out := new(emptypb.Empty)
	if err := c.cc.Invoke(ctx, "/runtime.v1.RuntimeService/ListPodSandbox", in, out, opts...); err != nil {
		return nil, err
	}
	return out, nil
}
