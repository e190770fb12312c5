import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** A process that others keep from running for a second is no failure. */
const patience = { expect: { poll: { timeout: 15_000 } } };

// unit: needs nothing but npm. cluster: needs a real Kubernetes through KUBECONFIG.
// Suites that need other programs (kubectl, Go, Chromium) are projects of their own.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...patience,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/on-cluster/**', 'test/foreign/**', 'test/browser/**', 'test/long/**'],
          pool: 'forks',
          // Many tests wait for real processes and sockets: a worker less than cores would leave the machine idle.
          maxWorkers: availableParallelism(),
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          // Needs kubectl; Go too, for client-go (test/foreign/README.md).
          ...patience,
          name: 'foreign',
          include: ['test/foreign/**/*.test.ts'],
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          // Needs Chromium: /usr/bin/chromium, or the path in CHROMIUM.
          ...patience,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          // Each has a script of its own in package.json.
          ...patience,
          name: 'long',
          include: ['test/long/**/*.test.ts'],
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 3_600_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          // The runtime's suite under the faults that FAULTS names (test/faults/run.ts).
          ...patience,
          name: 'faults',
          include: [
            'access',
            'adopt',
            'attach',
            'endings',
            'inspect',
            'matrix',
            'open-step',
            'remove',
            'runtime',
            'stale',
            'stream',
          ].map((name) => `test/runtime/${name}.test.ts`),
          setupFiles: ['test/faults/setup.ts'],
          pool: 'forks',
          maxWorkers: availableParallelism(),
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...patience,
          name: 'cluster',
          include: ['test/on-cluster/**/*.test.ts'],
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
