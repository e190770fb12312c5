import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { playOf } from '../../src/trace/play.ts';
import { replay } from '../../src/trace/replay.ts';
import { historyOf } from '../helpers/history.ts';
import { stories } from '../helpers/story.ts';
import { damageProperty } from './damage-property.ts';

/** fast-check prints seed and path of a failure; `npm run test:property -- --seed S` repeats it. */
describe('what a cluster says, in whatever order and with whatever losses, never changes a verdict', () => {
  test('a made-up history ends as it was made to end', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const { recording, expected } = historyOf(story);
        const [pod] = replay(playOf(recording)).pods;
        for (const [name, verdict] of Object.entries(expected)) {
          expect(pod?.containers.find((container) => container.name === name)).toMatchObject(verdict);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('2,000 damaged histories end as the whole ones', () => {
    fc.assert(damageProperty(), { numRuns: 2_000 });
  });
});
