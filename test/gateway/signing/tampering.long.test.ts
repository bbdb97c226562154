import { tamperingTest } from './signed-urls.js';

describe('a signed url', () => {
  tamperingTest(100_000);
});
