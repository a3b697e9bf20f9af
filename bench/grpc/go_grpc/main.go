// The service of the gRPC benchmarks by grpc-go, without generated code.
//
// Usage: go_grpc PORT
package main

import (
	"context"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const streamCount = 1000

func unary(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	request := new(wrapperspb.BytesValue)
	if err := decode(request); err != nil {
		return nil, err
	}
	return &wrapperspb.BytesValue{Value: request.Value}, nil
}

func pour(_ any, stream grpc.ServerStream) error {
	request := new(wrapperspb.BytesValue)
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	for range streamCount {
		if err := stream.SendMsg(&wrapperspb.BytesValue{Value: request.Value}); err != nil {
			return err
		}
	}
	return nil
}

func echoAll(_ any, stream grpc.ServerStream) error {
	for {
		request := new(wrapperspb.BytesValue)
		err := stream.RecvMsg(request)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.SendMsg(&wrapperspb.BytesValue{Value: request.Value}); err != nil {
			return err
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: unary}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Pour", Handler: pour, ServerStreams: true},
			{StreamName: "EchoAll", Handler: echoAll, ServerStreams: true, ClientStreams: true},
		},
	}, struct{}{})
	log.Fatal(server.Serve(listener))
}
