/** What two clusters' answers have in common: ids, times, addresses and column widths are put aside. */

export interface Names {
  readonly namespace: string;
  readonly server: string;
}

const replaced: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, 'TIME'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/(resourceVersion"?: ?)"\d+"/g, '$1"RV"'],
  [/\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:\d+)?\b/g, 'IP'],
  [/([\w.-]+\/[\w./-]+@)?sha256:[0-9a-f]{64}/g, 'SHA'],
  [/containerd:\/\/[0-9a-f]{64}/g, 'containerd://ID'],
  // Who built the server, and from what.
  [/(GitCommit|GitTreeState|GoVersion):"[^"]*"/g, '$1'],
  [/\b(\w[\w.-]*)\.[0-9a-f]{16}\b/g, '$1.HASH'],
  [/default-scheduler-[\w-]+/g, 'default-scheduler-HOST'],
  [/kube-api-access-\w{5}/g, 'kube-api-access-XXXXX'],
  // Durations, as ages and in texts: 5s, 2m3s, 4d5h, 1.204s, 16ms.
  [/(?<![\w.-])(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?(ms|s))\b/g, 'AGE'],
  [/(?<![\w.-])(\d+d)(\d+h)?(?![\w.-])|(?<![\w.-])\d+h(\d+m)?(?![\w.-])|(?<![\w.-])\d+m(?![\w.-])/g, 'AGE'],
  // Which second a thing is seen in is chance.
  [/\(x\d+ over AGE\)/g, '(xN over AGE)'],
];

export function normalForm(text: string, { namespace, server }: Names): string {
  let result = withoutManagedFields(text.replaceAll(server, 'SERVER').replaceAll(namespace, 'NS'));
  for (const [pattern, by] of replaced) result = result.replace(pattern, by);
  const lines = result
    .split('\n')
    // What client-go logs beside a deadline is chance.
    .filter((line) => !/^[EWI]\d{4} \d\d:/.test(line))
    .map((line) => line.replace(/(\S)[ \t]{2,}|(\S)\t/g, '$1$2  ').trimEnd());
  return withoutAddresses(lines.join('\n'));
}

const addresses: readonly (readonly [RegExp, string])[] = [
  [/^ *"?podIP"?: "?IP"?,?\n/gm, ''],
  [/^ *podIPs:\n *- ip: IP\n/gm, ''],
  [/^ *"podIPs": \[\n *\{\n *"ip": "IP"\n *\}\n *\],?\n/gm, ''],
  [/^IP:.*\nIPs:.*\n( +IP:.*\n)*/gm, ''],
  [/<none> {2}localhost/g, 'IP  localhost'],
];

/** In one recording of twenty a pod loses its address with its end, here and there. */
function withoutAddresses(text: string): string {
  let result = text;
  for (const [pattern, by] of addresses) result = result.replace(pattern, by);
  return result;
}

/** The embedded cluster keeps none; old kubectls print them. */
function withoutManagedFields(text: string): string {
  const lines: string[] = [];
  let inside: number | undefined;
  for (const line of text.split('\n')) {
    const indent = line.length - line.trimStart().length;
    if (inside !== undefined) {
      const closes = indent === inside && /^\s*\],?$/.test(line);
      const goesOn = indent > inside || /^\s*- /.test(line.slice(0, inside + 2)) || closes;
      if (closes) {
        inside = undefined;
        continue;
      }
      if (goesOn) continue;
      inside = undefined;
    }
    if (/^\s*"?managedFields"?:/.test(line)) inside = indent;
    else lines.push(line);
  }
  return lines.join('\n');
}
