/** The log of an instance arrives whole, in order and once, whatever the server does one after the other. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fastClock, reading, second, startLogServer } from './log-server.ts';

/** What happens on the server, one after the other. */
const actions = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        lines: fc.integer({ min: 1, max: 30 }),
        stepMs: fc.constantFrom(0, 1, 400),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('cut' as const),
        afterBytes: fc.nat(1_500),
        how: fc.constantFrom('reset' as const, 'reset' as const, 'end' as const, 'hang' as const),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'refuse' as const }) },
    { weight: 2, arbitrary: fc.constant({ do: 'breathe' as const }) },
  ),
  { maxLength: 25 },
);

test('each line exactly once and in order against a server that cuts, hangs, refuses and ends early', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (steps) => {
      const server = await startLogServer();
      const { api } = server;
      let written = 0;
      let ms = 0;
      server.start();
      const { got, done } = reading(server.follow(fastClock));
      for (const step of steps) {
        if (step.do === 'cut') server.cuts.push(step);
        else if (step.do === 'refuse') api.next((exchange) => exchange.text(503, 'no'));
        else if (step.do === 'breathe') await new Promise((resolve) => setTimeout(resolve, 2));
        else {
          server.append(
            ...Array.from({ length: step.lines }, () => {
              ms += step.stepMs;
              return second(ms / 1000, `line ${written++} ${'é'.repeat(written % 20)}`);
            }),
          );
        }
      }
      // A server that ended every last reading early could not be told from a file that was rotated.
      server.cuts.splice(3);
      server.terminate();
      server.tellEnd();
      await done;
      await server.client.close();
      await api.stop();
      expect(got.map(({ text }) => Number(text.split(' ')[1]))).toEqual(
        Array.from({ length: written }, (_, index) => index),
      );
    }),
    { numRuns: 60 },
  );
});
