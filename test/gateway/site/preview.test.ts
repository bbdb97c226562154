import { expect } from 'chai';
import { whyNoPreview } from '../../../gateway/site/preview.js';

describe('site/preview', () => {
  for (const [site, api] of [
    ['http://127.0.0.1:8081', 'http://127.0.0.1:8080'],
    ['http://localhost:8081', 'http://127.0.0.1:8080'],
    ['https://keys.example.com', 'https://api.example.com'],
    ['http://127.0.0.1:8081', 'https://api.example.com'],
    ['http://192.0.2.7:8081', 'http://192.0.2.7:8080'],
  ] as const) {
    it(`is there on ${site} of ${api}`, () => {
      expect(whyNoPreview(site, api)).to.equal(undefined);
    });
  }

  for (const [site, api, reason] of [
    ['https://keys.example.com', 'http://127.0.0.1:8080', 'HELPER_API_URL'],
    ['https://keys.example.com', 'http://0.0.0.0:8080', 'HELPER_API_URL'],
    ['https://keys.example.com', 'http://[::]:8080', 'HELPER_API_URL'],
    ['https://keys.example.com', 'http://api.example.com', 'without https'],
    ['http://[::1]:8081', 'http://[::1]:8080', 'IPv6'],
  ] as const) {
    it(`is not there on ${site} of ${api}: ${reason}`, () => {
      expect(whyNoPreview(site, api)).to.include(reason);
    });
  }
});
