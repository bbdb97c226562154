import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { errorTable } from '../../../../gateway/errors.js';
import { documentOf, fixtureFolders } from './document-of.js';

describe('docs/openapi: the document', () => {
  let made: Awaited<ReturnType<typeof documentOf>>;
  before(async () => {
    made = await documentOf(fixtureFolders);
  });

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(made.document));
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true);
    expect(validator.version).to.equal('3.1');
  });

  it('gives each operation an id of its own, whose words are the path’s', () => {
    const ids = Object.values(made.document.paths).flatMap((item) =>
      Object.values(item as object).map(({ operationId }) => operationId as string),
    );
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids).to.include.members([
      'getTextDiffTwoStrings',
      'postTextDiffTwoStrings',
      'postOddFiles',
      'postOddFiles_2',
    ]);
  });

  it('has none of the vocabulary’s own keywords, nor draft-07’s', () => {
    const text = JSON.stringify(made.document);
    expect(text).not.to.match(/"(color|fraction|drawable|nullable)":true|"choice":|"\$id"|\/definitions\//);
    expect(text).not.to.match(/"additionalItems"|"dependencies":/);
  });

  it('writes lists of a query with commas, and what is deeper as JSON', () => {
    const { parameters } = made.operation('get', '/nasty');
    const named = (name: string) => parameters.find((each) => each.name === name);
    expect(named('numbers')).to.include({ style: 'form', explode: false });
    for (const name of ['tree', 'lists', 'shape']) {
      expect(named(name), name).to.have.nested.property('content.application/json.schema');
    }
    expect(named('odd')).to.include({ required: true });
  });

  it('takes files in multipart alone, and their urls everywhere', () => {
    const { content, required } = made.operation('post', '/odd/files').requestBody;
    expect(required).to.equal(true);
    expect(content['multipart/form-data']).to.deep.nested.include({
      'schema.properties.logo.format': 'binary',
      'schema.properties.logo.contentMediaType': 'image/*',
      'schema.properties.notes.description':
        'The file itself; its url does as well. Of the type text/plain, text/markdown.',
    });
    expect(content['application/x-www-form-urlencoded']?.schema.required).to.deep.equal(['logo']);
  });

  it('needs no body where nothing is required', () => {
    expect(made.operation('post', '/shape').requestBody.required).to.equal(false);
    expect(made.operation('post', '/text/diff-two-strings').requestBody.required).to.equal(true);
  });

  it('may answer with a picture where one is taken, and with data alone where that is described', () => {
    const ofPicture = made.operation('post', '/media/add-border').responses['200'];
    expect(Object.keys(ofPicture?.content ?? {})).to.include.members([
      'application/json',
      'image/png',
      '*/*',
    ]);
    const ofData = made.operation('post', '/nasty').responses['200'];
    expect(Object.keys(ofData?.content ?? {})).to.deep.equal(['application/json']);
  });

  it('tells of tags where pictures are made of pictures, and nowhere else', () => {
    const of = (path: string) => {
      const [get, post] = [made.operation('get', path), made.operation('post', path)];
      const asked = get.parameters.some(({ name }) => name === 'If-None-Match');
      const tagged = [get, post].map(({ responses }) => Object.hasOwn(responses[200]?.headers ?? {}, 'ETag'));
      return { asked, unchanged: ['304' in get.responses, '304' in post.responses], tagged };
    };
    expect(of('/media/add-border')).to.deep.equal({
      asked: true,
      unchanged: [true, false],
      tagged: [true, true],
    });
    expect(of('/text/remove-stopwords')).to.deep.equal({
      asked: false,
      unchanged: [false, false],
      tagged: [false, false],
    });
  });

  it('names every error of the table that a helper can answer with, by its status', () => {
    const { responses } = made.operation('get', '/text/diff-two-strings');
    const ofTheSite = ['unauthorized', 'forbidden', 'exists'];
    for (const [code, { status }] of Object.entries(errorTable)) {
      if (ofTheSite.includes(code)) continue;
      const name = responses[status]?.$ref?.split('/').at(-1) ?? '';
      const response = made.document.components.responses[name];
      expect(JSON.stringify(response), `${status} ${code}`).to.include(`"${code}"`);
      if ('retryAfter' in errorTable[code as keyof typeof errorTable]) {
        expect(response).to.have.nested.property('headers.Retry-After');
      }
    }
  });

  it('takes the key in both ways, and none for the gateway’s health', () => {
    expect(made.document.security).to.deep.equal([{ bearer: [] }, { ak: [] }]);
    expect(made.operation('get', '/healthz')).to.deep.include({ security: [] });
  });

  it('takes the three parameters of a signed url together, for GET alone and beside no parameter of the helper’s', () => {
    const { security, parameters } = made.operation('get', '/media/add-border');
    expect(security).to.deep.equal([{ bearer: [] }, { ak: [] }, { kid: [], exp: [], sig: [] }]);
    expect(parameters.map(({ name }) => name)).not.to.include.members(['sig']);
    expect(made.operation('post', '/media/add-border')).not.to.have.property('security');
    expect(made.document.components.securitySchemes.sig).to.include({
      type: 'apiKey',
      in: 'query',
      name: 'sig',
    });
  });
});
