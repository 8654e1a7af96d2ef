module svc
go 1.21
