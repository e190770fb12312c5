/** What is wrong with a configuration is said with its place and the remedy. */
import { writeFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { loadCredentialSource } from '../../src/kube/kube-config.ts';
import { writeKubeConfig } from './api-server.ts';

afterEach(() => void vi.unstubAllEnvs());

test('server, namespace and token come from the current context', async () => {
  const source = await loadCredentialSource({ kubeConfig: await writeKubeConfig('https://host:1/base/') });
  expect(source.server.href).toBe('https://host:1/base');
  expect(source.namespace).toBe('builds');
  expect((await source.credentials()).headers).toEqual({ Authorization: 'Bearer good' });
});

test('a file that is not there is named', async () => {
  await expect(loadCredentialSource({ kubeConfig: '/no/such/file' })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    message: expect.stringContaining('/no/such/file'),
    remedy: expect.stringContaining('kubeconfig'),
  });
});

test('a file that is not YAML is named', async () => {
  const path = await writeKubeConfig('http://host');
  await writeFile(path, 'a: [');
  await expect(loadCredentialSource({ kubeConfig: path })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    message: expect.stringContaining(path),
  });
});

test('an unknown context is answered with the known ones', async () => {
  const kubeConfig = await writeKubeConfig('http://host');
  await expect(loadCredentialSource({ kubeConfig, context: 'play' })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    message: expect.stringContaining('"play"'),
    remedy: expect.stringContaining('work'),
  });
});

test('an address that is none is refused', async () => {
  await expect(loadCredentialSource({ kubeConfig: await writeKubeConfig('host:6443') })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    message: expect.stringContaining('host:6443'),
  });
});

test('in-cluster configuration outside of a pod is refused', async () => {
  // The tests may run in one.
  vi.stubEnv('KUBERNETES_SERVICE_HOST', undefined);
  vi.stubEnv('KUBERNETES_SERVICE_PORT', undefined);
  await expect(loadCredentialSource({ inCluster: true })).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_CONFIG' });
});

test('a plugin that fails is told with its words', async () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'sh',
    args: ['-c', 'echo no luck >&2; exit 1'],
  };
  const source = await loadCredentialSource({ kubeConfig: await writeKubeConfig('http://host', { exec }) });
  await expect(source.credentials()).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    message: expect.stringContaining('no luck'),
  });
});
