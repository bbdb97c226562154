import { drawMixedPictures } from '../mixed-pictures.js';
import type { Scenario } from '../scenario.js';

/** What the second half may take more than the first: a leak of a few kilobytes a picture is past it. */
const most = 1.05;

/** Nothing of a picture stays: memory is as high after tens of thousands of them as after thousands. */
export const manyPictures: Scenario = {
  name: 'memory over many pictures',
  // As people run it: with the C library's own way of keeping what is freed.
  env: { MALLOC_MMAP_THRESHOLD_: undefined, MALLOC_TRIM_THRESHOLD_: undefined },
  // What threads and the C library keep for the next picture is judged by its growth, and waiting by other scenarios.
  bounds: { backMb: 1_000, healthMs: 1_000 },
  async attack(world, { scale, random, tally }) {
    const count = tally.good;
    const { first, second } = await drawMixedPictures(world, { calls: scale.calls, random, count });
    console.log(
      `    ${scale.calls} pictures: ${first.toFixed(0)} MB in the first half, ${second.toFixed(0)} MB in the second`,
    );
    if (tally.goodStatuses.size !== 1) tally.fault('not all pictures were drawn');
    if (!(second <= first * most)) tally.fault(`memory grew × ${(second / first).toFixed(2)}`);
  },
};
