import { operatorToken, startTestGateway } from '../gateway/harness.js';
import { readText } from '../readme.js';

export const rulesFile = '.deploy/chart/files/rules.yaml';
export const rules = readText(rulesFile);
export const dashboard = JSON.parse(readText('.deploy/chart/files/dashboard.json')) as Dashboard;

interface Dashboard {
  panels: { id: number; title: string; type: string; targets?: { expr: string }[] }[];
  templating: { list: { definition?: string }[] };
}

/** Expressions of the panels. */
export const asked = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** What `/metrics` shows after a call. */
export async function metricsPage(): Promise<string> {
  const api = await startTestGateway({ HELPER_OPERATOR_TOKEN: operatorToken });
  await api.call('/text/diff-two-strings?a=1&b=2');
  const headers = { authorization: `Bearer ${operatorToken}` };
  const page = await (await fetch(new URL('/metrics', api.gateway.connectUrl), { headers })).text();
  await api.close();
  return page;
}

/** A series as promtool writes them: a value a minute, from the first. */
type Series = { series: string; values: string };

/** What must set off an alert, when, and what is near to it and must not. */
export interface RuleCase {
  severity: 'critical' | 'warning';
  /** By then it fires. */
  at: string;
  /** Labels that it then has besides its own name and severity. */
  labels: Record<string, string>;
  fires: Series[];
  quiet: Series[];
}

const one = 'instance="a",job="gateway",namespace="n"';
const of = { job: 'gateway', namespace: 'n' };
const each = { ...of, instance: 'a' };

function series(name: string, labels: string, values: string): Series {
  return { series: `helper_gateway_${name}{${one}${labels && `,${labels}`}}`, values };
}

/** Calls at 100 a minute, and so many with this code. */
function calls(code: string, perMinute: number): Series[] {
  return [
    series('calls_total', 'service="a/b",code="ok"', '0+100x60'),
    series('calls_total', `service="a/b",code="${code}"`, `0+${perMinute}x60`),
  ];
}

/** A histogram of which nine in ten are below the first bound, and the others are above the second or between the two. */
function histogram(name: string, labels: string, { fast, slow }: { fast: number; slow: number }): Series[] {
  const bucket = (le: string, perMinute: number) =>
    series(`${name}_bucket`, `${labels},le="${le}"`, `0+${perMinute}x60`);
  return [bucket('0.5', fast), bucket('10', fast + slow), bucket('+Inf', fast + slow)];
}

const waiting = (seconds: number) => series('jobs_oldest_wait_seconds', '', `${seconds}x120`);
const items = (code: string, perMinute: number) =>
  series('job_items_total', `service="a/b",code="${code}"`, `0+${perMinute}x120`);
const direct = 'work="direct",class="w1"';

const caseOf =
  (severity: RuleCase['severity']) =>
  (at: string, labels: RuleCase['labels'], fires: Series[], quiet: Series[]): RuleCase => ({
    severity,
    at,
    labels,
    fires,
    quiet,
  });
const [critical, warning] = [caseOf('critical'), caseOf('warning')];

const threads = (values: string) => series('pool_threads', '', values);
const available = (values: string) => series('keys_available', '', values);
const waits = (labels: string, fast: number, slow: number) =>
  histogram('queue_wait_seconds', labels, { fast, slow });
const callTimes = (fast: number, slow: number) => histogram('call_seconds', 'service="a/b"', { fast, slow });
const lag = (labels: string, values: string): Series => ({
  series: `nodejs_eventloop_lag_p99_seconds{${labels}}`,
  values,
});
const webhooks = (outcome: string, values: string) =>
  series('webhooks_total', `outcome="${outcome}"`, values);

/** One case an alert. */
export const ruleCases: Record<string, RuleCase> = {
  HelperGatewayGone: critical('10m', {}, [], [threads('2x60')]),
  HelperGatewayKeysUnavailable: critical('10m', each, [available('1x4 0x20')], [available('1x4 0 1x20')]),
  HelperGatewayNoThreads: critical('10m', each, [threads('2x4 0x20')], [threads('2x4 0 1x20')]),
  HelperGatewayFaults: critical('20m', of, calls('internal', 5), [
    ...calls('internal', 1),
    ...calls('source_failed', 50).slice(1),
  ]),
  HelperGatewayRefusesCalls: warning('20m', of, calls('busy', 3), calls('tenant_busy', 50)),
  HelperGatewayQueueWait: warning('30m', of, waits(direct, 90, 10), [
    ...waits(direct, 99, 1),
    ...waits('work="job",class="w1"', 0, 10),
  ]),
  HelperGatewaySlow: warning('30m', { ...of, service: 'a/b' }, callTimes(90, 10), callTimes(999, 1)),
  HelperGatewayEventLoopLag: warning(
    '20m',
    each,
    [lag(one, '0.5x60'), threads('2x60')],
    [lag('instance="b",job="another"', '0.5x60'), lag(one, '0.1x60'), threads('2x60')],
  ),
  HelperGatewayJobsStuck: critical(
    '30m',
    of,
    [waiting(1000), items('ok', 0)],
    [waiting(1000), items('ok', 1)],
  ),
  HelperGatewayJobsWait: warning('30m', of, [waiting(4000), items('ok', 1)], [waiting(3000), items('ok', 1)]),
  HelperGatewayJobItemsFail: warning(
    '30m',
    of,
    [items('ok', 90), items('internal', 10)],
    [items('ok', 50), items('bad_image', 50), items('internal', 1)],
  ),
  HelperGatewayWebhooksGivenUp: warning(
    '30m',
    of,
    [webhooks('given_up', '0x10 1x60')],
    [webhooks('failed', '0+1x60')],
  ),
};
