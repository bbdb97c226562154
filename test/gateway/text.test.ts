import { expect } from 'chai';
import { startTestGateway, type TestGateway } from './harness.js';

describe('text helpers over HTTP', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway();
  });

  after(() => api.close());

  it('diff two strings, from the query and from JSON', async () => {
    const query = await api.call('/text/diff-two-strings?a=one&b=one%0Atwo');
    expect(query.json.data).to.deep.equal({ diff: '@@ -1 +1,2 @@\n one\n+two' });
    const json = await api.call('/text/diff-two-strings', { body: { a: 'x\ny', b: 'x\nz', context: 0 } });
    expect(json.json.data).to.deep.equal({ diff: '@@ -2 +2 @@\n-y\n+z' });
  });

  it('take an empty text for a text', async () => {
    expect((await api.call('/text/diff-two-strings?a=&b=')).json.data).to.deep.equal({ diff: '' });
    expect((await api.call('/text/remove-stopwords?text=')).status).to.equal(200);
  });

  it('return the diff in a dry run too, which needs both texts', async () => {
    const { json } = await api.call('/text/diff-two-strings?a=1&b=2&dryrun=1');
    expect([json.data.diff, json.meta.dryrun]).to.deep.equal(['@@ -1 +1 @@\n-1\n+2', true]);
    const missing = await api.call('/text/diff-two-strings?a=1&dryrun=1');
    expect(missing.json.error.details.map(({ field }: { field: string }) => field)).to.deep.equal(['b']);
  });

  it('remove stopwords and leave every space', async () => {
    const { json } = await api.call('/text/remove-stopwords?text=The+cat+is+on+the+mat,+not+off.&keep=not');
    expect(json.data).to.deep.equal({ text: ' cat    mat, not .' });
    expect(json.meta.service).to.equal('text/remove-stopwords');
  });

  it('preview a dry run without a text', async () => {
    const { status, json } = await api.call('/text/remove-stopwords?dryrun=true');
    expect([status, json.data, json.meta.dryrun]).to.deep.equal([
      200,
      { operation: 'remove-stopwords' },
      true,
    ]);
  });

  it('say in words what a word is', async () => {
    const { json } = await api.call('/text/remove-stopwords?text=x&also=two+words');
    expect(json.error.details[0].field).to.equal('also.0');
    expect(json.error.details[0].problem).to.match(/word/).and.not.to.include('\\p');
  });

  it('say which language a code of two letters is', async () => {
    for (const [said, meant] of [
      ['en', 'eng'],
      ['de', 'deu'],
      ['es', 'spa'],
    ]) {
      const { json } = await api.call(`/text/remove-stopwords?text=x&language=${said}`);
      expect(json.error.details[0].field).to.equal('language');
      expect(json.error.details[0].problem).to.match(new RegExp(`; did you mean "${meant}"\\?$`));
    }
  });
});
