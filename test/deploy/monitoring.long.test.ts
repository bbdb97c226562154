import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithout } from '../needs.js';
import { asked, metricsPage, type RuleCase, ruleCases, rules, rulesFile } from './monitoring.js';

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

function promtool(args: string[], input?: string) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

function promtoolPasses(args: string[]): void {
  const { status, said } = promtool(args);
  expect(status, said).to.equal(0);
}

describe('rules and dashboard, by promtool', () => {
  let folder: string;

  before(function () {
    if (spawnSync('promtool', ['--version']).status !== 0)
      skipWithout(this, 'promtool (in Debian’s package prometheus)');
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
    promtoolPasses(['check', 'rules', rulesFile]);
  });

  it('alert where they should, and not where they need not', () => {
    const tests = Object.entries(ruleCases).flatMap(([name, each]) => unitTest(name, each));
    // What an alert says is for people to read.
    const annotated = rules.replace(/^ +annotations:\n(?: {10}.*\n)+/gm, '');
    writeFileSync(join(folder, 'rules.yaml'), annotated);
    const file = given('tests.json', { rule_files: ['rules.yaml'], evaluation_interval: '1m', tests });
    promtoolPasses(['test', 'rules', file]);
  });

  it('have expressions in all panels that Prometheus can read', () => {
    const records = asked.map((expr, index) => ({ record: `panel:${index}`, expr: asGrafana(expr) }));
    const file = given('panels.json', { groups: [{ name: 'panels', rules: records }] });
    promtoolPasses(['check', 'rules', file]);
  });

  it('stand on metrics as Prometheus wants them', async () => {
    const { said } = promtool(['check', 'metrics'], await metricsPage());
    // Node's and the process's own are the library's.
    expect(said.split('\n').filter((line) => /^helper_gateway|error/i.test(line))).to.deep.equal([]);
  });
});
