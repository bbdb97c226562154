import { expect } from 'chai';
import { judgeRequest } from '../../../../gateway/jobs/api/judge-request.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';

describe('jobs/api/judge-request', () => {
  it('takes no webhook where nothing could be signed, and says what is missing, not that the url is wrong', () => {
    const check = () => {
      createSigningSecrets(undefined).webhooks.requireMaster();
      throw new Error('there is no master secret');
    };
    const registry = new Map([['text/a', {} as never]]);
    const asked = { service: 'text/a', inputs: [Buffer.from('{}')], problems: [] };
    const judge = (more: { webhookUrl?: string }) =>
      judgeRequest({ ...asked, ...more }, { scopes: null }, { registry, webhooks: { check } });
    expect(() => judge({ webhookUrl: 'https://example.com/hook' }))
      .to.throw('HELPER_SIGNING_SECRET')
      .with.property('code', 'storage_unavailable')
      .and.not.property('details');
    expect(judge({})).to.include({ webhookUrl: undefined });
  });
});
