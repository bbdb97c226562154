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
