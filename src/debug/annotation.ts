/**
 * The annotation that makes a container debuggable: `debug.cloud.google.com/config`, as Skaffold writes and reads it.
 *
 * Its value is a JSON object, container name → `{ artifact?, runtime?, workingDir?, ports? }`, where `ports` maps a
 * protocol to a port number. (Events and state call the same map `debugPorts`.) Unknown fields are ignored.
 */
import { PodwrightError } from '../errors.ts';
import type { DebugConfig } from './types.ts';

export const debugAnnotation = 'debug.cloud.google.com/config';

/** The runtimes that Skaffold's debuggers know: the protocol of the port, and the port its tools listen on. */
export const debugRuntimes: Readonly<Record<string, { readonly protocol: string; readonly port: number } | null>> = {
  go: { protocol: 'dlv', port: 56268 },
  jvm: { protocol: 'jdwp', port: 5005 },
  nodejs: { protocol: 'devtools', port: 9229 },
  python: { protocol: 'dap', port: 5678 },
  /** Has no port: its debugger is started inside the container by exec. */
  netcore: null,
};

export interface ParsedAnnotation {
  /** By container name; those at fault are left out. */
  readonly containers: ReadonlyMap<string, DebugConfig>;
  readonly problems: readonly { readonly container: string | null; readonly message: string }[];
}

/** Never throws: a fault in one container's entry is a problem told, and the others count. */
export function parseDebugAnnotation(value: string): ParsedAnnotation {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch (error) {
    return refused(`the annotation ${debugAnnotation} is not JSON: ${messageOf(error)}`);
  }
  if (!isRecord(parsed)) return refused(`the annotation ${debugAnnotation} is not a JSON object of containers`);
  const containers = new Map<string, DebugConfig>();
  const problems: { container: string | null; message: string }[] = [];
  for (const [container, entry] of Object.entries(parsed)) {
    const config = parseEntry(entry);
    if (typeof config === 'string')
      problems.push({ container, message: `${debugAnnotation}: ${container}: ${config}` });
    else containers.set(container, config);
  }
  return { containers, problems };
}

/** The annotation's value for these containers; fields without content are left out, as Skaffold does. */
export function writeDebugAnnotation(containers: ReadonlyMap<string, DebugConfig>): string {
  return JSON.stringify(
    Object.fromEntries(
      [...containers].map(([name, { artifact, runtime, workingDir, ports }]) => [
        name,
        {
          ...(artifact === '' ? {} : { artifact }),
          ...(runtime === '' ? {} : { runtime }),
          ...(workingDir === '' ? {} : { workingDir }),
          ...(Object.keys(ports).length === 0 ? {} : { ports }),
        },
      ]),
    ),
  );
}

/**
 * Reads `STEP=RUNTIME` or `STEP=RUNTIME:PORT`, the form of the command line. Without a port it is the usual one of that
 * runtime. A step's name may hold `=`. Throws `ERR_PODWRIGHT_USAGE`.
 */
export function parseDebugOption(option: string): { readonly step: string; readonly config: DebugConfig } {
  const match = /^(?<step>.+)=(?<runtime>[a-z]+)(?::(?<port>\d+))?$/s.exec(option);
  const { step, runtime, port } = match?.groups ?? {};
  if (step === undefined || runtime === undefined) throw badOption(option, 'it is not of the form STEP=RUNTIME:PORT');
  const known = Object.hasOwn(debugRuntimes, runtime) ? debugRuntimes[runtime] : undefined;
  if (known === undefined) throw badOption(option, `there is no runtime called ${runtime}`);
  const config = { artifact: '', runtime, workingDir: '' };
  if (known === null) {
    if (port !== undefined) throw badOption(option, `${runtime} is debugged without a port`);
    return { step, config: { ...config, ports: {} } };
  }
  const number = port === undefined ? known.port : Number(port);
  if (!isPort(number)) throw badOption(option, `${port} is no port number`);
  return { step, config: { ...config, ports: { [known.protocol]: number } } };
}

function parseEntry(entry: unknown): DebugConfig | string {
  if (!isRecord(entry)) return 'its configuration is not a JSON object';
  const { artifact = '', runtime = '', workingDir = '', ports = {} } = entry;
  if (typeof artifact !== 'string') return 'artifact is not a string';
  if (typeof runtime !== 'string') return 'runtime is not a string';
  if (typeof workingDir !== 'string') return 'workingDir is not a string';
  if (!isRecord(ports)) return 'ports is not an object of protocol and port';
  const numbers: Record<string, number> = {};
  for (const [protocol, port] of Object.entries(ports)) {
    if (!isPort(port)) return `the port of ${protocol} is not a number from 1 to 65535`;
    numbers[protocol] = port;
  }
  return { artifact, runtime, workingDir, ports: numbers };
}

function refused(message: string): ParsedAnnotation {
  return { containers: new Map(), problems: [{ container: null, message }] };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function badOption(option: string, why: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot debug with ${JSON.stringify(option)}: ${why}`, {
    remedy: `Give STEP=RUNTIME or STEP=RUNTIME:PORT, RUNTIME one of ${Object.keys(debugRuntimes).join(', ')}.`,
    details: { option },
  });
}
