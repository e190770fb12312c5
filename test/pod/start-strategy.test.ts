/** Nothing of a step may run in the placeholder, and what the step runs must arrive unchanged. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entryMounts } from '../../src/image/placeholder.ts';
import { completePlaceholder, escapeReferences, placeholderStrategy } from '../../src/pod/start-strategy.ts';
import type { Pod } from '../../src/pod/types.ts';
import { aSpec, aStep } from './specs.ts';

const planned = (request = aStep('test')) => ({ name: request.name, containerName: request.name, index: 0, request });

describe('with any placeholder', () => {
  const strategy = placeholderStrategy({ image: 'wait:1' });

  it('the container has the placeholder image, an explicit pull policy and no command', () => {
    const parts = strategy.containerParts(planned());
    expect(parts).toEqual({
      image: 'wait:1',
      imagePullPolicy: 'IfNotPresent',
      args: ['/bin/sh', '-e', '-c', 'echo test'],
    });
  });

  it('an entrypoint becomes arguments, and the build is told so', () => {
    const step = { name: 'own', image: 'tool:1', role: 'step', entrypoint: ['/tool'], args: ['-v'] } as const;
    expect(strategy.containerParts(planned(step))).toMatchObject({ args: ['/tool', '-v'] });
    expect(strategy.limits(aSpec({ containers: [step] })).join()).toMatch(/no entry program: own run as arguments/);
  });

  it('a step that is its image has no arguments and needs no warning', () => {
    const step = { name: 'plain', image: 'tool:1', role: 'step' } as const;
    expect(strategy.containerParts(planned(step))).not.toHaveProperty('args');
    expect(strategy.limits(aSpec({ containers: [step] }))).toEqual([]);
  });

  it('there are no restart rules without a code of its own', () => {
    expect(strategy.containerParts(planned())).not.toHaveProperty('restartPolicyRules');
    expect(placeholderStrategy({ image: 'w', restartOn: 0 }).containerParts(planned())).not.toHaveProperty(
      'restartPolicy',
    );
  });
});

describe('with a code of its own', () => {
  const strategy = placeholderStrategy({ image: 'wait:1', restartOn: 213 });

  it('rules restart it on that code only', () => {
    expect(strategy.containerParts(planned())).toMatchObject({
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
    });
  });

  it('whether the server kept them is read from the pod', () => {
    const pod = (containers: object[]): Pod => ({ metadata: meta, spec: { containers: containers as never } });
    const rules = { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }] };
    expect(strategy.keepsRules(pod([{ name: 'test', ...rules }]), 'test')).toBe(true);
    expect(strategy.keepsRules(pod([{ name: 'test' }]), 'test')).toBe(false);
    expect(strategy.keepsRules(pod([{ name: 'other', ...rules }]), 'test')).toBe(false);
  });
});

describe('with the own placeholder', () => {
  const strategy = placeholderStrategy({ image: 'own:1', entry: true });

  it('the command is the entry program, with the own command as its arguments', () => {
    const parts = strategy.containerParts(planned());
    expect(parts['command']).toEqual(expect.arrayContaining([entryMounts.program]));
    expect(parts['args']).toEqual(['/bin/sh', '-e', '-c', 'echo test']);
  });

  it('the program is read-only in the steps and comes from an init container of the same image', () => {
    expect(strategy.containerParts(planned())['volumeMounts']).toContainEqual(
      expect.objectContaining({ mountPath: entryMounts.bin, readOnly: true }),
    );
    const { initContainers, volumes } = strategy.podParts();
    expect(initContainers).toEqual([expect.objectContaining({ image: 'own:1' })]);
    expect(volumes.map((volume) => volume['name'])).toEqual(['podwright-bin', 'podwright-marks']);
  });

  it('a step without a command keeps the entrypoint of its image', () => {
    const parts = strategy.containerParts(planned({ name: 'plugin', image: 'p:1', role: 'step', args: ['--x'] }));
    expect(parts).not.toHaveProperty('command');
    expect(parts['args']).toEqual(['--x']);
  });

  it('the code is 213 without being told, and nothing is lost', () => {
    expect(completePlaceholder({ image: 'own:1', entry: true })).toEqual({
      image: 'own:1',
      entry: true,
      restartOn: 213,
    });
    expect(strategy.limits(aSpec())).toEqual([]);
  });
});

describe('escapeReferences', () => {
  it('is undone by the expansion of the kubelet, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', ' ', 'é', '€', '\n') }), (text) => {
        expect(expand(escapeReferences(text))).toBe(text);
      }),
    );
  });

  it('leaves alone what the expansion leaves alone', () => {
    expect(escapeReferences('echo $HOME $1 %')).toBe('echo $HOME $1 %');
  });
});

/** k8s.io/kubernetes/third_party/forked/golang/expansion/expand.go, with an empty environment, over UTF-8 bytes. */
function expand(text: string): string {
  const bytes = [...Buffer.from(text)];
  const out: number[] = [];
  const put = (value: string): void => void out.push(...Buffer.from(value));
  for (let i = 0; i < bytes.length; i++) {
    const next = bytes[i + 1];
    if (bytes[i] !== 0x24 || next === undefined) {
      out.push(bytes[i] ?? 0);
      continue;
    }
    i++;
    const close = bytes.indexOf(0x29, i);
    if (next === 0x24) put('$');
    else if (next !== 0x28) put(`$${String.fromCharCode(next)}`);
    else if (close === -1) put('$(');
    else {
      // An unknown variable is left as its reference; a known one would be replaced. Both mean: not escaped.
      put('<replaced>');
      i = close;
    }
  }
  return Buffer.from(out).toString();
}

const meta = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' };
