import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { root } from '../readme.js';

/** Holds `helm/helm` and, in node_modules, `yaml` and models of Kubernetes' objects: .ci/run puts them there. */
const tools = process.env.TEST_CHART_TOOLS ?? '';
const helm = join(tools, 'helm', 'helm');
export const chart = join(root, '.deploy', 'chart');

/** Why charts cannot be judged here, if so. */
export function chartNeeds(): string | undefined {
  return existsSync(helm) ? undefined : 'helm and kubernetes-models (TEST_CHART_TOOLS)';
}

/** An object of Kubernetes, as far as tests look into it. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own models judge what it is.
  spec: any;
  data?: Record<string, string>;
}

export interface Container {
  name: string;
  image: string;
  args: string[];
  env: { name: string; value?: string; valueFrom?: object }[];
  resources: object;
  securityContext: object;
}

function run(args: string[], values: object) {
  const options = { input: JSON.stringify(values), encoding: 'utf8', maxBuffer: 2 ** 26 } as const;
  return spawnSync(helm, [...args, chart, '--values', '-'], options);
}

/** What helm makes of the chart with these values; throws with what it says where it refuses them. */
export function render(values: object = {}): KubeObject[] {
  const { status, stdout, stderr } = run(['template', 'here', '--namespace', 'there'], values);
  if (status !== 0) throw new Error(stderr);
  const { parseAllDocuments } = createRequire(join(tools, 'index.js'))('yaml') as {
    parseAllDocuments(text: string): { toJS(): KubeObject | null }[];
  };
  return parseAllDocuments(stdout).flatMap((document) => document.toJS() ?? []);
}

/** What `helm lint --strict` ends with. */
export function lint(values: object = {}): { status: number | null; stdout: string } {
  return run(['lint', '--strict'], values);
}

/** Which package has the models of a group of Kubernetes' API. */
function packageOf(group: string): string {
  if (group === 'keda.sh') return '@kubernetes-models/keda/keda.sh';
  if (group === 'monitoring.coreos.com')
    return '@kubernetes-models/prometheus-operator/monitoring.coreos.com';
  return group === '' ? 'kubernetes-models' : `kubernetes-models/${group.replace('rbac.', '')}`;
}

function modelOf({ apiVersion, kind }: KubeObject): string {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return `${packageOf(group)}/${version}/${kind}`;
}

/**
 * Holds objects to Kubernetes' models: at run time to their schemas, which let fields pass that nobody knows, and by the compiler to
 * their types, which let none. Gives what is wrong.
 */
export function faultsOf(objects: KubeObject[]): string {
  const folder = mkdtempSync(join(tools, 'check-'));
  try {
    const models = objects.map(
      (object, at) => `import { I${object.kind} as I${at} } from '${modelOf(object)}';`,
    );
    const literals = objects.map((object, at) => `export const o${at}: I${at} = ${JSON.stringify(object)};`);
    writeFileSync(join(folder, 'objects.ts'), [...models, ...literals].join('\n'));
    const validating = objects.map(
      (object) =>
        `import('${modelOf(object)}').then((model) => new model.${object.kind}(${JSON.stringify(object)}).validate()),`,
    );
    writeFileSync(join(folder, 'validate.mjs'), `await Promise.all([${validating.join('\n')}]);`);
    const tsc = join(
      dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
      'bin',
      'tsc',
    );
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      '',
    ];
    const checks = [[tsc, ...flags, 'objects.ts'], ['validate.mjs']].map((args) =>
      spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }),
    );
    return checks
      .filter(({ status }) => status !== 0)
      .map(({ stdout, stderr }) => stdout + stderr)
      .join('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
