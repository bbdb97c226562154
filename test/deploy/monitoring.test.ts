import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { operatorToken } from '../gateway/gate.js';
import { startTestGateway } from '../gateway/harness.js';
import { skipWithout } from '../needs.js';
import { readText } from '../readme.js';
import { hasPromtool, promtool } from './promtool.js';
import { type RuleCase, ruleCases } from './rule-cases.js';

const rulesFile = '.deploy/chart/files/rules.yaml';
const rules = readText(rulesFile);
const dashboard = JSON.parse(readText('.deploy/chart/files/dashboard.json')) as Dashboard;

interface Dashboard {
  panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[];
  templating: { list: { definition?: string }[] };
}

const asked = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const recorded = [...rules.matchAll(/- record: (\S+)/g)].map(([, name]) => name);
const alerts = [...rules.matchAll(/- alert: (\S+)/g)].map(([, name]) => name);

/** Names in an expression that are of the gateway, of Node or of the process; not those of labels and functions. */
function metricsIn(text: string): string[] {
  return text.match(/\b(?:helper_gateway|nodejs|process)[_:][\w:]+/g) ?? [];
}

/** Of a dashboard’s expression, what Grafana would make of it. */
function asGrafana(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*');
}

/** The same series with nothing wrong and with something, as a test of promtool's. */
function unitTest(name: string, { fires, quiet, labels, severity, at }: RuleCase) {
  const check = (input_series: object[], exp_alerts: object[]) => ({
    interval: '1m',
    input_series,
    alert_rule_test: [{ alertname: name, eval_time: at, exp_alerts }],
  });
  return [check(fires, [{ exp_labels: { ...labels, severity } }]), check(quiet, [])];
}

describe('rules and dashboard', () => {
  let body: string;
  let told: Set<string>;

  before(async () => {
    const api = await startTestGateway({ HELPER_OPERATOR_TOKEN: operatorToken });
    await api.call('/text/diff-two-strings?a=1&b=2');
    const headers = { authorization: `Bearer ${operatorToken}` };
    body = await (await fetch(new URL('/metrics', api.gateway.connectUrl), { headers })).text();
    await api.close();
    const types = [...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    told = new Set(
      types.flatMap(([, name = '', type]) =>
        type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
  });

  it('name only metrics that a gateway tells, or that are recorded', () => {
    const unknown = [
      rules.replace(/^ *(?:#|summary:|description:).*$/gm, ''),
      ...asked,
      ...dashboard.templating.list.map(({ definition = '' }) => definition),
    ]
      .flatMap(metricsIn)
      .filter((name) => !told.has(name) && !recorded.includes(name));
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
    expect(
      dashboard.panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0),
    ).to.deep.equal([]);
  });

  it('have a case for each alert', () => {
    expect(alerts).to.have.members(Object.keys(ruleCases));
  });

  describe('by promtool', () => {
    let folder: string;

    before(function () {
      if (!hasPromtool()) skipWithout(this, 'promtool (in Debian’s package prometheus)');
      folder = mkdtempSync(join(tmpdir(), 'helper-gateway-rules-'));
    });
    after(() => folder && rmSync(folder, { recursive: true }));

    /** Writes a file for promtool, which reads JSON as the YAML that it is. */
    function given(name: string, content: object): string {
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify(content));
      return file;
    }

    it('are rules', () => {
      const { status, said } = promtool(['check', 'rules', rulesFile]);
      expect(status, said).to.equal(0);
    });

    it('alert where they should, and not where they need not', () => {
      const tests = Object.entries(ruleCases).flatMap(([name, each]) => unitTest(name, each));
      // What an alert says is for people to read.
      const annotated = rules.replace(/^ +annotations:\n(?: {10}.*\n)+/gm, '');
      writeFileSync(join(folder, 'rules.yaml'), annotated);
      const file = given('tests.json', { rule_files: ['rules.yaml'], evaluation_interval: '1m', tests });
      const { status, said } = promtool(['test', 'rules', file]);
      expect(status, said).to.equal(0);
    });

    it('have expressions in all panels that Prometheus can read', () => {
      const records = asked.map((expr, index) => ({ record: `panel:${index}`, expr: asGrafana(expr) }));
      const file = given('panels.json', { groups: [{ name: 'panels', rules: records }] });
      const { status, said } = promtool(['check', 'rules', file]);
      expect(status, said).to.equal(0);
    });

    it('stand on metrics as Prometheus wants them', () => {
      const { said } = promtool(['check', 'metrics'], { input: body });
      // Node's and the process's own are the library's.
      expect(
        said.split('\n').filter((line) => line.startsWith('helper_gateway') || /error/i.test(line)),
      ).to.deep.equal([]);
    });
  });
});
