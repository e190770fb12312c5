/** A spec that cannot run is refused before anything is sent, with every fault in its place. */
import { describe, expect, it } from 'vitest';
import { PodwrightError } from '../../src/errors.ts';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import { checkSpec, type SpecFault } from '../../src/pod/check-spec.ts';
import { aSpec, aStep, fullSpec, placeholder } from './specs.ts';

const policy = { placeholder, privilegedImages: ['registry.example.com/web'], hostPaths: ['/var/cache'] };

function faults(spec: BuildSpec): readonly SpecFault[] {
  try {
    checkSpec(spec, policy);
    return [];
  } catch (error) {
    if (!(error instanceof PodwrightError)) throw error;
    expect(error.code).toBe('ERR_PODWRIGHT_USAGE');
    return error.details['faults'] as SpecFault[];
  }
}
const one = (more: Parameters<typeof aStep>[1]): BuildSpec => aSpec({ containers: [aStep('a', more)] });

it('a spec with every field passes', () => {
  expect(faults(fullSpec())).toEqual([]);
});

it('all faults are told at once', () => {
  const spec = aSpec({ id: '', containers: [aStep('a', { image: 'UPPER' }), aStep('a', { workingDir: 'src' })] });
  expect(faults(spec).map(({ at }) => at)).toEqual([
    'id',
    'containers[1].name',
    'containers[0] (a).image',
    'containers[1] (a).workingDir',
  ]);
});

const refused: readonly (readonly [string, BuildSpec, RegExp])[] = [
  ['no containers', aSpec({ containers: [] }), /must not be empty/],
  [
    'more containers than a pod holds',
    aSpec({ containers: Array.from({ length: 501 }, (_, i) => aStep(`s${i}`)) }),
    /501/,
  ],
  ['an image that does not parse', one({ image: 'a b' }), /./],
  ['the placeholder as a step', one({ image: 'registry.example.com/wait:1' }), /is the placeholder image/],
  ['a privileged image off the list', one({ privileged: true }), /may run privileged/],
  ['a script with arguments', one({ args: ['x'] }), /excludes/],
  [
    'an argument over 128 KiB',
    aSpec({ containers: [{ name: 'a', image: 'b', role: 'step', args: ['x'.repeat(131_072)] }] }),
    /128 KiB/,
  ],
  ['a NUL', one({ script: 'a\0b' }), /NUL/],
  ['a variable name', one({ environment: { 'a b': '' } }), /"a b" is no name/],
  ['a mount without a volume', one({ mounts: [{ volume: 'v', mountPath: '/v' }] }), /there is no volume "v"/],
  [
    'a relative mount',
    { ...one({ mounts: [{ volume: 'v', mountPath: 'v' }] }), volumes: [{ name: 'v', emptyDir: {} }] },
    /absolute/,
  ],
  [
    'a mount over entry',
    { ...one({ mounts: [{ volume: 'v', mountPath: '/podwright/bin' }] }), volumes: [{ name: 'v', emptyDir: {} }] },
    /podwright's own/,
  ],
  [
    'a subPath that leaves',
    { ...one({ mounts: [{ volume: 'v', mountPath: '/v', subPath: '../x' }] }), volumes: [{ name: 'v', emptyDir: {} }] },
    /inside/,
  ],
  ['a host folder off the list', aSpec({ volumes: [{ name: 'h', hostPath: '/etc' }] }), /hostPaths/],
  ['a host folder that climbs', aSpec({ volumes: [{ name: 'h', hostPath: '/var/cache/../../etc' }] }), /hostPaths/],
  ['a host folder beside the list', aSpec({ volumes: [{ name: 'h', hostPath: '/var/cache2' }] }), /hostPaths/],
  ['a volume of two kinds', aSpec({ volumes: [{ name: 'h', claim: 'c', secret: 's' }] }), /exactly one/],
  ['a volume name of ours', aSpec({ volumes: [{ name: 'podwright-x', emptyDir: {} }] }), /DNS label/],
  ['a label of ours', aSpec({ labels: { 'podwright.dev/owner': 'x' } }), /podwright's own/],
  ['an annotation of ours', aSpec({ annotations: { 'request.podwright.dev/a': 'x' } }), /podwright's own/],
  ['a host name', aSpec({ hostnames: ['my_db'] }), /no host name/],
  ['a workspace at the root', aSpec({ workspace: { mountPath: '/' } }), /of your own/],
  ['a port', one({ ports: [{ port: 70_000 }] }), /no port number/],
];

describe('is refused', () => {
  it.each(refused)('%s', (_, spec, message) => {
    expect(
      faults(spec)
        .map((fault) => fault.message)
        .join('\n'),
    ).toMatch(message);
  });
});

it('the error says that nothing was created', () => {
  expect(() => checkSpec(aSpec({ containers: [] }), policy)).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('nothing was created') as string }),
  );
});
