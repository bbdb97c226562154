import { startTestGateway, type TestGateway } from './harness.js';
import { uprightTests } from './media-upright.js';

for (const engine of ['sharp', 'jimp']) {
  describe(`image helpers over HTTP, by ${engine}, in every combination`, () => {
    let api: TestGateway;
    before(async () => {
      api = await startTestGateway({ HELPER_IMAGE_ENGINE: engine });
    });
    after(() => api.close());

    uprightTests(engine, () => api, 1);
  });
}
