// Secrets of every origin reach their steps, and nothing that is written shows them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';
import { connect, type KubeClient } from '../../../src/kube/client.ts';
import { Folder, podwright } from '../../cli/podwright.ts';

const values = {
  flag: 'value-of-the-flag',
  variable: 'value-of-the-variable',
  file: 'value-of-the-file',
  cluster: 'value-of-the-cluster',
  lines: 'first secret line\nsecond secret line',
};
const folder = new Folder();
const secretFile = folder.file(
  'secrets.env',
  `from_file=${values.file}\nwith_lines="first secret line\\nsecond secret line"\n`,
);
const pipeline = folder.file(
  'secrets.yml',
  `version: "1"
steps:
  - name: use
    image: alpine
    secrets: [from_flag, from_variable, from_file, { source: from_cluster, target: other_name }, with_lines]
    environment: { HEADER: "Bearer \${FROM_FLAG}" }
    parameters: { token: "\${FROM_FILE}" }
    commands:
      - echo "$FROM_FLAG / $FROM_VARIABLE / $FROM_FILE / $OTHER_NAME"
      - echo "$WITH_LINES"
      - printf %s "$FROM_FLAG" | base64
      - echo "$HEADER $PARAMETER_TOKEN"
      - env | sort
      - test "$OTHER_NAME" = ${values.cluster}
      - test "$FROM_VARIABLE" = "$COPY"
`,
);

let cluster: EmbeddedCluster;
let client: KubeClient;
beforeAll(async () => {
  cluster = await startCluster();
  client = await connect({ kubeConfig: cluster.kubeConfig });
  await client.create(
    { resource: 'secrets', namespace: 'default' },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hub' }, stringData: { password: values.cluster } },
  );
});
afterAll(async () => {
  await client.close();
  await cluster.stop();
  folder.end();
});

describe('secrets', { timeout: 60_000 }, () => {
  const flags = [
    ...['--secret', `from_flag=${values.flag}`, '--secret', 'from_variable', '--secret-file', secretFile],
    ...['--secret-ref', 'from_cluster=hub/password', '--env', `COPY=${values.variable}`],
  ];

  test.each(['pretty', 'json'])('are in their steps and in no output (%s) or report', async (output) => {
    const reports = [
      '--report',
      `html=${join(folder.path, 'r.html')}`,
      '--report',
      `junit=${join(folder.path, 'r.xml')}`,
    ];
    const args = ['run', pipeline, '--kubeconfig', cluster.kubeConfig, '--output', output, ...flags, ...reports];
    const { code, out, err } = await podwright(args, { env: { FROM_VARIABLE: values.variable } });
    expect(code, out).toBe(0);
    const written = [out, err, ...['r.html', 'r.xml'].map((name) => readFileSync(join(folder.path, name), 'utf8'))];
    for (const text of written) {
      // COPY is no secret by itself; its value is one all the same.
      for (const value of [
        ...Object.values(values),
        'second secret line',
        Buffer.from(values.flag).toString('base64'),
      ]) {
        expect(text).not.toContain(value);
      }
    }
    expect(out).toContain('*** / *** / *** / ***');
  });

  test('that are missing are told by name before anything is created', async () => {
    const before = cluster.requests.count({ verb: 'create' });
    const { code, err } = await podwright(['run', pipeline, '--kubeconfig', cluster.kubeConfig]);
    expect(code).toBe(2);
    expect(err).toContain('step "use" asks for the secret "from_flag", which was not given');
    expect(cluster.requests.count({ verb: 'create' })).toBe(before);
  });
});
