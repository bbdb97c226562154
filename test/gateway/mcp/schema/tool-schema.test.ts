import { expect } from 'chai';
import type { Helper } from '../../../../gateway/helpers/registry.js';
import { inputSchema, outputSchema } from '../../../../gateway/mcp/schema/tool-schema.js';
import { describeDeclaration } from '../../../../schemas/declared-helper.js';
import { compileParameters } from '../../../../schemas/parameters.js';
import { createVocabulary } from '../../../../schemas/vocabulary/vocabulary.js';

function helperOf(own: Record<string, unknown>): Helper {
  const declaration = describeDeclaration({
    summary: 'x',
    input: { type: 'object', properties: {} },
    handler: () => ({}),
    ...own,
  });
  const parameters = compileParameters(createVocabulary(), declaration);
  return { id: 'a/b', file: '', url: '', declaration, parameters };
}

describe('the schema of a tool', () => {
  it('asks for files by their urls, and for those that are required', () => {
    const files = { logo: { kind: 'image', description: 'The sign.' } };
    const { properties, required } = inputSchema(helperOf({ source: 'image', files }));
    expect(required).to.deep.equal(['url']);
    expect(Object.keys(properties as object)).to.deep.equal(['url', 'logo', 'dryrun']);
    const { description } = (properties as Record<string, { description: string }>).logo ?? {};
    expect(description).to.equal('The sign. Public https address that the file is fetched from.');
  });

  it('closes what is nested, as it is judged', () => {
    const size = { type: 'object', properties: { w: { type: 'integer', maximum: 9 } } };
    const { properties } = inputSchema(helperOf({ input: { type: 'object', properties: { size } } }));
    expect((properties as Record<string, object>).size).to.include({ additionalProperties: false });
  });

  it('has no alternatives at its root', () => {
    const properties = { a: { type: 'string', maxLength: 9 }, b: { type: 'string', maxLength: 9 } };
    const anyOf = [{ required: ['a'] }, { required: ['b'] }];
    const schema = inputSchema(helperOf({ input: { type: 'object', properties, anyOf } }));
    expect(schema).not.to.have.property('anyOf');
    expect(Object.keys(schema.properties as object)).to.deep.equal(['a', 'b', 'dryrun']);
  });

  it('says of what is answered that a dry run may be', () => {
    const output = {
      type: 'object',
      properties: { at: { $ref: '#/definitions/at' } },
      definitions: { at: { type: 'integer' } },
    };
    const { type, anyOf, $defs } = outputSchema(helperOf({ output }));
    expect(type).to.equal('object');
    // Its data, a dry run's, and what stands for a file.
    expect(anyOf).to.have.length(3);
    expect(Object.keys($defs as object)).to.have.length(1);
    expect(outputSchema(helperOf({ output, dryrun: 'run' })).anyOf).to.have.length(2);
  });
});
