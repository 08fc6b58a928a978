// Package telemetry exports traces, and metrics where that is asked for, by OpenTelemetry's
// protocol (OTLP), as the variables OTEL_* of its specification say. Without an endpoint nothing
// is made: no span, no goroutine, no connection.
//
// A collector that is slow or away never holds a message up: spans wait in a queue of
// OTEL_BSP_MAX_QUEUE_SIZE (2048), and those that find no room are dropped.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"earshot/repositories/tracing"
)

// Options say what is exported, and as what.
type Options struct {
	// Lookup looks a variable up. The variables that say where and how to export are read by the
	// SDK itself, from the environment of the process.
	Lookup func(string) (string, bool)
	// Version is that of the program.
	Version string
	// Gather are the metrics that are exported where OTEL_METRICS_EXPORTER asks for them.
	Gather prometheus.Gatherer
	Log    *slog.Logger
	Now    func() time.Time
}

// Telemetry is what exports. A nil one exports nothing.
type Telemetry struct {
	traces  *sdktrace.TracerProvider
	metrics *metric.MeterProvider
}

// Open begins to export what the variables ask for: traces where OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, or OTEL_TRACES_EXPORTER names an exporter; metrics
// where OTEL_METRICS_EXPORTER names one, or OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is set. It is nil
// where they ask for nothing, or OTEL_SDK_DISABLED is true. Its error names a variable that
// cannot be followed; it connects to nothing yet.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	traces, metrics := o.asks("TRACES", "ENDPOINT", "TRACES_ENDPOINT"), o.asks("METRICS", "METRICS_ENDPOINT")
	if disabled := o.variable("OTEL_SDK_DISABLED"); strings.EqualFold(disabled, "true") || !traces && !metrics {
		return nil, nil
	}
	about, err := o.resource(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES (OTEL_SERVICE_NAME): %w", err)
	}
	otel.SetErrorHandler(&quiet{log: o.Log, now: o.Now})
	otel.SetLogger(logr.FromSlogHandler(wordless{o.Log.Handler()}))
	t := &Telemetry{}
	if traces {
		err = o.unfollowed("TRACES", t.exportTraces(ctx, o, about))
	}
	if metrics && err == nil {
		err = o.unfollowed("METRICS", t.exportMetrics(ctx, o, about))
	}
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// unfollowed says which variables an error is of.
func (o Options) unfollowed(signal string, err error) error {
	if err == nil {
		return nil
	}
	exporter, protocol := "OTEL_"+signal+"_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
	return fmt.Errorf("%s is %q and %s is %q: %w; exporters are otlp, console and none, protocols http/protobuf and grpc",
		exporter, o.variable(exporter), protocol, o.variable(protocol), err)
}

func (o Options) variable(name string) string {
	value, _ := o.Lookup(name)
	return strings.TrimSpace(value)
}

// asks reports whether the variables ask for a signal: by an exporter, or by an endpoint where
// none is named.
func (o Options) asks(signal string, endpoints ...string) bool {
	if exporter := o.variable("OTEL_" + signal + "_EXPORTER"); exporter != "" {
		return exporter != "none"
	}
	for _, name := range endpoints {
		if o.variable("OTEL_EXPORTER_OTLP_"+name) != "" {
			return true
		}
	}
	return false
}

// resource is what exports: the variables win over what the program knows of itself.
func (o Options) resource(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", tracing.Scope), attribute.String("service.version", o.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
}

func (t *Telemetry) exportTraces(ctx context.Context, o Options, about *resource.Resource) (err error) {
	var exporter sdktrace.SpanExporter
	switch o.exporter("TRACES") {
	case "http/protobuf":
		exporter, err = otlptracehttp.New(ctx)
	case "grpc":
		exporter, err = otlptracegrpc.New(ctx)
	case "console":
		exporter, err = stdouttrace.New()
	default:
		err = errUnknownExporter
	}
	if err != nil {
		return err
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return nil
}

func (t *Telemetry) exportMetrics(ctx context.Context, o Options, about *resource.Resource) (err error) {
	var exporter metric.Exporter
	switch o.exporter("METRICS") {
	case "http/protobuf":
		exporter, err = otlpmetrichttp.New(ctx)
	case "grpc":
		exporter, err = otlpmetricgrpc.New(ctx)
	case "console":
		exporter, err = stdoutmetric.New()
	default:
		err = errUnknownExporter
	}
	if err != nil {
		return err
	}
	shown := bridge.NewMetricProducer(bridge.WithGatherer(o.Gather)) // what /metrics shows
	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(shown))
	t.metrics = metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))
	return nil
}

var errUnknownExporter = errors.New("unknown exporter or protocol")

// exporter is how a signal is exported: by a protocol of OTLP, or by another exporter.
func (o Options) exporter(signal string) string {
	if name := o.variable("OTEL_" + signal + "_EXPORTER"); name != "" && name != "otlp" {
		return name
	}
	return cmp.Or(o.variable("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL"), o.variable("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
}

// Tracer returns what begins spans; nil where no traces are exported.
func (t *Telemetry) Tracer() *tracing.Tracer {
	if t == nil || t.traces == nil {
		return nil
	}
	return tracing.New(t.traces)
}

// Close exports what is left until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var faults []error
	if t.traces != nil {
		faults = append(faults, t.traces.Shutdown(ctx))
	}
	if t.metrics != nil {
		faults = append(faults, t.metrics.Shutdown(ctx))
	}
	return errors.Join(faults...)
}

// quiet logs what the SDK cannot export, once a minute at most: a collector that is away for
// hours is one fault, not thousands.
type quiet struct {
	log  *slog.Logger
	now  func() time.Time
	last atomic.Int64 // in nanoseconds since 1970
}

// Handle implements otel.ErrorHandler.
func (q *quiet) Handle(err error) {
	now, last := q.now().UnixNano(), q.last.Load()
	if (last == 0 || now-last >= int64(time.Minute)) && q.last.CompareAndSwap(last, now) {
		q.log.Warn("telemetry.unsent", "error", err.Error())
	}
}

// wordless logs the faults that the SDK finds in variables, without what they hold: it would show
// a header of OTEL_EXPORTER_OTLP_HEADERS, which is a credential, as it stands.
type wordless struct{ to slog.Handler }

// Enabled implements slog.Handler.
func (w wordless) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && w.to.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w wordless) Handle(ctx context.Context, of slog.Record) error {
	bare := slog.NewRecord(of.Time, slog.LevelWarn, "telemetry.variable", 0)
	bare.AddAttrs(slog.String("fault", "a variable OTEL_* is not as it must be, and is left out: "+of.Message))
	return w.to.Handle(ctx, bare)
}

// WithAttrs implements slog.Handler; what is added may hold a credential.
func (w wordless) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w wordless) WithGroup(string) slog.Handler { return w }
