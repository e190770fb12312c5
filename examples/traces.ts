// Builds as OpenTelemetry traces: build → pod → step → pull, start, run. Podwright calls the API; which SDK and exporter
// are behind it is yours to say, before anything is traced: node examples/traces.ts KUBECONFIG [NAMESPACE].
// Here they print to the console; for a collector take OTLPTraceExporter of @opentelemetry/exporter-trace-otlp-http.
import {
  BasicTracerProvider,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { createRuntime, EventHub, publishRuntime, type Runtime, traceHub } from '../src/index.ts';
import { execute } from './executor.ts';

export async function runTraced(runtime: Runtime, exporter: SpanExporter): Promise<boolean> {
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const hub = new EventHub();
  const endTraces = traceHub({ hub, tracer: provider.getTracer('podwright') });
  const endEvents = publishRuntime(hub, runtime);
  try {
    const step = (name: string, script: string) => ({ name, image: 'alpine:3', role: 'step', script }) as const;
    const containers = [step('compile', 'sleep 0.2'), step('test', 'exit 3')];
    return await execute(runtime, { id: `traced-${Date.now()}`, containers }, () => undefined);
  } finally {
    endEvents();
    endTraces();
    await provider.forceFlush();
  }
}

if (import.meta.main) {
  const [kubeConfig = 'kubeconfig', namespace = 'default'] = process.argv.slice(2);
  const runtime = await createRuntime({ kubeConfig, namespace });
  await runTraced(runtime, new ConsoleSpanExporter());
  await runtime.close();
}
