/**
 * Prints how a gateway's memory goes on while it draws pictures of all sizes and formats. A short run: `npm run soak -- --only pictures`
 * makes 40,000. `node dist/test/bench/memory.js`
 */
import { drawMixedPictures } from '../soak/attacks/pictures.js';
import { createRandom } from '../soak/mutate.js';
import { printGoals, printTable } from './measure.js';
import { startGateway } from './servers.js';

const calls = 2_000;

const gateway = await startGateway();
const { first, second } = await drawMixedPictures(
  { ...gateway, alive: () => true },
  {
    calls,
    random: createRandom(1),
    count(status) {
      if (status !== 200) throw new Error(`a picture was answered ${status}`);
    },
  },
);
printTable(
  [`${calls} mixed pictures`, 'first half', 'second half'],
  [['memory, MB', first.toFixed(0), second.toFixed(0)]],
);
console.log('');
printGoals([
  {
    what: 'memory of the second half beside the first',
    figure: second / first,
    unit: '×',
    goal: { atMost: 1.05 },
  },
]);
await gateway.close();
