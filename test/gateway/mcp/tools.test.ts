import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { loadRegistry } from '../../../gateway/helpers/load-registry.js';
import { builtinPlugins } from '../../../gateway/helpers/package-paths.js';
import { type HelperTool, toolsOf } from '../../../gateway/mcp/tools.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';
import { fixture } from '../../fixtures.js';

const folders = ['good', 'alternatives', 'agents'].map((name) => fixture(`plugins/${name}`));

/** Keywords that hold a list of types, and those that only plugins know. */
const unread = /"type":\[|"(?:choice|fraction|drawable|color)":(?:true|\{"[a-z]+":\[)|"definitions"/;

describe('what agents are told of helpers', () => {
  const ajv = new Ajv2020({ strict: false, code: { optimize: false } });
  let tools: HelperTool[];

  before(async () => {
    tools = [...toolsOf(await loadRegistry([builtinPlugins, ...folders], createVocabulary())).values()];
  });

  it('is one object schema each that any validator of 2020-12 reads', () => {
    expect(tools.length).to.be.above(8);
    const strict = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
    for (const { definition } of tools) {
      const { name, inputSchema, outputSchema } = definition;
      for (const schema of [inputSchema, ...(outputSchema ? [outputSchema] : [])]) {
        expect(schema.type, name).to.equal('object');
        expect(JSON.stringify(schema), name).not.to.match(unread);
        strict.compile(schema);
      }
    }
  }).timeout(30_000);

  it('takes the examples of every helper', () => {
    let tried = 0;
    for (const { helper, definition } of tools) {
      const isValid = ajv.compile(definition.inputSchema);
      for (const { input } of helper.declaration.examples) {
        const urls = helper.declaration.files.map(({ parameter }) => [
          parameter,
          'https://example.com/a.png',
        ]);
        expect(isValid({ ...Object.fromEntries(urls), ...input }), JSON.stringify(isValid.errors)).to.equal(
          true,
        );
        tried += 1;
      }
    }
    expect(tried).to.be.above(8);
  });

  it('refuses a name that no parameter has', () => {
    for (const { definition } of tools) {
      const isValid = ajv.compile({ ...definition.inputSchema, required: [] });
      expect(isValid({ dryrun: true }), definition.name).to.equal(true);
      expect(isValid({ nonsense: 1 }), definition.name).to.equal(false);
    }
  });
});
