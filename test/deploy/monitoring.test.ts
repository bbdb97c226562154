import { expect } from 'chai';
import { asked, dashboard, metricsPage, ruleCases, rules } from './monitoring.js';

const recorded = [...rules.matchAll(/- record: (\S+)/g)].map(([, name]) => name);
const alerts = [...rules.matchAll(/- alert: (\S+)/g)].map(([, name]) => name);

/** Names in an expression that are of the gateway, of Node or of the process; not those of labels and functions. */
function metricsIn(text: string): string[] {
  return text.match(/\b(?:helper_gateway|nodejs|process)[_:][\w:]+/g) ?? [];
}

describe('rules and dashboard', () => {
  let body: string;
  let exported: Set<string>;

  before(async () => {
    body = await metricsPage();
    const types = [...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    exported = new Set(
      types.flatMap(([, name = '', type]) =>
        type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
  });

  it('name only metrics that a gateway exports, or that are recorded', () => {
    const unknown = [
      rules.replace(/^ *(?:#|summary:|description:).*$/gm, ''),
      ...asked,
      ...dashboard.templating.list.map(({ definition = '' }) => definition),
    ]
      .flatMap(metricsIn)
      .filter((name) => !exported.has(name) && !recorded.includes(name));
    expect(unknown).to.deep.equal([]);
    expect(asked.flatMap(metricsIn)).to.have.length.above(30);
  });

  it('leave no metric of the gateway unseen', () => {
    const seen = new Set([rules, ...asked].flatMap(metricsIn).map((name) => name.replace(/_bucket$/, '')));
    const own = [...body.matchAll(/^# TYPE (helper_gateway_\w+) /gm)].map(([, name]) => name);
    expect(own.filter((name) => !seen.has(name as string))).to.deep.equal([]);
  });

  it('have panels of their own numbers, each with something to show', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).to.equal(ids.length);
    const empty = dashboard.panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0);
    expect(empty).to.deep.equal([]);
  });

  it('have a case for each alert', () => {
    expect(alerts).to.have.members(Object.keys(ruleCases));
  });
});
