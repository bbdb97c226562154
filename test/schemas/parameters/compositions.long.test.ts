import { closeNestedPeerTests, lateCompileTests } from './compositions.js';

describe('schemas of any composition, at length', () => {
  closeNestedPeerTests(process.env.TEST_RELOADS === 'all' ? 2000 : 500);
  lateCompileTests(process.env.TEST_RELOADS === 'all' ? 2000 : 500);
});
