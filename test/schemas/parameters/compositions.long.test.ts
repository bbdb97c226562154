import { closeNestedPeerTests, lateCompileTests } from './compositions.js';

describe('schemas of any composition, at length', () => {
  closeNestedPeerTests(2000);
  lateCompileTests(2000);
});
