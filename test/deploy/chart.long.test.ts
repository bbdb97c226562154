import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { refusedIpv4, refusedIpv6 } from '../../gateway/download/address.js';
import { variables } from '../../schemas/config/config.js';
import { skipWithout } from '../needs.js';
import { readText, root } from '../readme.js';

/** Holds `helm/helm` and, in node_modules, `yaml` and models of Kubernetes' objects: .ci/run puts them there. */
const tools = process.env.TEST_CHART_TOOLS ?? '';
const helm = join(tools, 'helm', 'helm');
const chart = join(root, '.deploy', 'chart');

/** An object of Kubernetes, as far as tests look into it. */
interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own models validate it.
  spec: any;
  data?: Record<string, string>;
}

type Container = Record<'name' | 'image', string> &
  Record<'resources' | 'securityContext', object> & {
    args: string[];
    env: { name: string; value?: string; valueFrom?: object }[];
  };

function run(args: string[], values: object) {
  const options = { input: JSON.stringify(values), encoding: 'utf8', maxBuffer: 2 ** 26 } as const;
  return spawnSync(helm, [...args, chart, '--values', '-'], options);
}

/** What helm makes of the chart with these values; throws with what it says where it refuses them. */
function render(values: object = {}): KubeObject[] {
  const { status, stdout, stderr } = run(['template', 'here', '--namespace', 'there'], values);
  if (status !== 0) throw new Error(stderr);
  const { parseAllDocuments } = createRequire(join(tools, 'index.js'))('yaml') as {
    parseAllDocuments(text: string): { toJS(): KubeObject | null }[];
  };
  return parseAllDocuments(stdout).flatMap((document) => document.toJS() ?? []);
}

const lint = (values: object) => run(['lint', '--strict'], values);

/** Which package has the models of a group of Kubernetes' API. */
function packageOf(group: string): string {
  if (group === 'keda.sh') return '@kubernetes-models/keda/keda.sh';
  if (group === 'monitoring.coreos.com') return `@kubernetes-models/prometheus-operator/${group}`;
  return group === '' ? 'kubernetes-models' : `kubernetes-models/${group.replace('rbac.', '')}`;
}

function modelOf({ apiVersion, kind }: KubeObject): string {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return `${packageOf(group)}/${version}/${kind}`;
}

/**
 * Holds objects to Kubernetes' models: at run time to their schemas, which let unknown fields pass, and by the compiler to
 * their types, which let none. Gives what is wrong.
 */
function faultsOf(objects: KubeObject[]): string {
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
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
    const flags = '--noEmit --strict --skipLibCheck --module nodenext --target es2022 --types'.split(' ');
    const checks = [[tsc, ...flags, '', 'objects.ts'], ['validate.mjs']].map((args) =>
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

const ofPods = { podAnnotations: { a: 'b' }, nodeSelector: { a: 'b' } };
const hosts = { apiHost: 'api.example', siteHost: 'keys.example' };
const fromProxy = { podSelector: { matchLabels: { app: 'proxy' } } };

/** Everything that can be switched on beside each other. */
const everything = {
  env: { HELPER_RATE: 40_000_000, HELPER_PROCESSES: 2, HELPER_CONNECT_URL: 'https://keys.example' },
  extraEnv: [{ name: 'TRANSLATE_KEY', valueFrom: { secretKeyRef: { name: 'plugins', key: 'translate' } } }],
  plugins: { configMap: { name: 'plugins', items: [{ key: 'shout.mjs', path: 'text/shout.mjs' }] } },
  autoscaling: { enabled: true },
  imagePullSecrets: [{ name: 'registry' }],
  gateway: { ...ofPods, tolerations: [{ key: 'a' }], priorityClassName: 'high' },
  ingress: { enabled: true, className: 'nginx', ...hosts, tlsSecret: 'tls' },
  networkPolicy: {
    apiFrom: [fromProxy],
    siteFrom: [fromProxy],
    extraEgress: [{ to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ port: 4318 }] }],
  },
  metrics: { serviceMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } },
};
const byWait = {
  ...everything,
  autoscaling: { enabled: false },
  keda: { enabled: true, authenticationRef: 'prometheus' },
};
const shared = {
  results: { url: '', existingClaim: 'folder' },
  worker: { enabled: false },
  plugins: { volume: { emptyDir: {} } },
};
const worlds = {
  'its defaults': {},
  everything,
  'KEDA in place of CPU alone': byWait,
  'a shared folder and no workers': shared,
};

const kinds = (objects: KubeObject[], kind: string) => objects.filter((object) => object.kind === kind);
const podOf = ({ kind, spec }: KubeObject) => (kind === 'Pod' ? spec : spec.template.spec);
const pods = (objects: KubeObject[]) =>
  [...kinds(objects, 'Deployment'), ...kinds(objects, 'Pod')].map(podOf);
const containers = (objects: KubeObject[]): Container[] => pods(objects).flatMap((pod) => pod.containers);
const named = (objects: KubeObject[], name: string) =>
  containers(kinds(objects, 'Deployment')).find((container) => container.name === name) as Container;
const settingOf = (container: Container, name: string) =>
  container.env.find((entry) => entry.name === name)?.value;

describe('the chart', () => {
  before(function () {
    if (!existsSync(helm)) skipWithout(this, 'helm and kubernetes-models (TEST_CHART_TOOLS)');
  });

  it('is of objects that Kubernetes knows, whatever the values', () => {
    expect(faultsOf(Object.values(worlds).flatMap((values) => render(values)))).to.equal('');
  }).timeout(300_000);

  for (const [world, values] of Object.entries(worlds)) {
    it(`with ${world} passes helm's strict eye, runs nothing as root and renders no secret`, () => {
      const { status, stdout } = lint(values);
      expect(status, stdout).to.equal(0);
      const objects = render(values);
      for (const pod of pods(objects)) {
        expect(pod.securityContext).to.include({ runAsNonRoot: true, runAsUser: 65532 });
        expect(pod.securityContext.seccompProfile).to.deep.equal({ type: 'RuntimeDefault' });
        expect(pod.automountServiceAccountToken).to.equal(false);
      }
      for (const { securityContext, resources } of containers(objects)) {
        const unprivileged = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
        expect(securityContext).to.deep.equal({ ...unprivileged, readOnlyRootFilesystem: true });
        expect(resources).to.have.all.keys('requests', 'limits');
      }
      expect(kinds(objects, 'Secret')).to.deep.equal([]);
      const known = [...variables.map(({ name }) => name), 'TRANSLATE_KEY'];
      for (const { env } of containers(kinds(objects, 'Deployment'))) {
        const names = env.map(({ name }) => name);
        expect(known).to.include.members(names);
        expect(names).to.have.lengthOf(new Set(names).size);
        const secret = env.filter(({ name }) => /SECRET|TOKEN|DATABASE_URL|REDIS_URL|ACCESS_KEY/.test(name));
        expect(secret.filter(({ value }) => value !== undefined)).to.deep.equal([]);
      }
    });
  }

  it('names the image, the ports and the folders as the image itself does', () => {
    const dockerfile = readText('.build/Dockerfile');
    const objects = kinds(render(), 'Deployment');
    expect(dockerfile).to.include('USER 65532:65532').and.to.include('HELPER_DATA_DIR=/data');
    const ports = objects.flatMap((object) => podOf(object).containers[0].ports);
    const exposed = /^EXPOSE (.+)$/m.exec(dockerfile)?.[1]?.split(' ').map(Number) ?? [];
    expect(ports.map((port) => port.containerPort)).to.have.members(exposed);
    expect(containers(objects).map(({ args }) => args)).to.deep.equal([['serve'], ['work']]);
  });

  it('takes an image by its digest where one is given', () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const images = (values: object) =>
      new Set(containers(kinds(render(values), 'Deployment')).map(({ image }) => image));
    expect([...images({ image: { tag: '3' } })]).to.deep.equal(['helper-gateway:3']);
    expect([...images({ image: { tag: '3', digest } })]).to.deep.equal([`helper-gateway@${digest}`]);
    expect(lint({ image: { digest: 'sha256:1' } }).status).not.to.equal(0);
  });

  it('gives a stop longer than it may take, whatever the times', () => {
    for (const [drain, task, source] of [
      [0, 1, 1],
      [5000, 10_000, 10_000],
      ['600000', 3_600_000, 1500],
    ]) {
      const env = { HELPER_DRAIN_MS: drain, HELPER_TASK_TIMEOUT_MS: task, HELPER_SOURCE_TIMEOUT_MS: source };
      const bound = (Number(drain) + Number(task) + Number(source)) / 1000;
      for (const object of kinds(render({ env }), 'Deployment')) {
        expect(podOf(object).terminationGracePeriodSeconds).to.be.within(bound + 3, bound + 6);
        expect(object.spec.strategy.rollingUpdate.maxUnavailable).to.equal(0);
      }
    }
  });

  it('has as many threads as the container has cores, shared by its processes', () => {
    const threads = (cpu: string | number, processes = 1) => {
      const values = { env: { HELPER_PROCESSES: processes }, gateway: { resources: { limits: { cpu } } } };
      return settingOf(named(render(values), 'gateway'), 'HELPER_POOL_THREADS');
    };
    expect([threads('1500m'), threads(4), threads('500m'), threads('4', 3)].join()).to.equal('2,4,1,2');
    const own = named(render({ env: { HELPER_POOL_THREADS: 7 } }), 'gateway');
    expect(settingOf(own, 'HELPER_POOL_THREADS')).to.equal('7');
  });

  it('lets the gateways run jobs where there are no workers, and writes numbers as people do', () => {
    for (const [values, name, setting] of [
      [{}, 'HELPER_JOBS', 'off'],
      [shared, 'HELPER_JOBS', 'on'],
      [everything, 'HELPER_RATE', '40000000'],
    ] as const)
      expect(settingOf(named(render(values), 'gateway'), name)).to.equal(setting);
  });

  it("lets https out to public addresses alone: to none that the gateway's guard refuses", () => {
    for (const { spec } of kinds(render(everything), 'NetworkPolicy')) {
      expect(spec.policyTypes).to.deep.equal(['Ingress', 'Egress']);
      const https = spec.egress.filter((rule: { ports: { port: number }[] }) =>
        rule.ports.some(({ port }) => port === 443),
      );
      const ipv4 = { cidr: '0.0.0.0/0', except: Object.keys(refusedIpv4) };
      const ipv6 = { cidr: '2000::/3', except: Object.keys(refusedIpv6) };
      const to = [{ ipBlock: ipv4 }, { ipBlock: ipv6 }];
      expect(https.map((rule: { to: object[] }) => rule.to)).to.deep.equal([to]);
      for (const { to } of spec.egress) expect(to).to.be.an('array').that.is.not.empty;
    }
  });

  it('lets in clients of the API, and to the site and the metrics only those that are named', () => {
    const [gateway, worker] = kinds(render(), 'NetworkPolicy');
    expect(gateway?.spec.ingress).to.deep.equal([{ ports: [{ protocol: 'TCP', port: 'api' }] }]);
    expect(worker?.spec.ingress).to.deep.equal([]);
    const [open, watched] = kinds(render(everything), 'NetworkPolicy');
    for (const { from } of [...(open?.spec.ingress ?? []), ...(watched?.spec.ingress ?? [])])
      expect(from).to.be.an('array');
    expect(watched?.spec.ingress[0].ports).to.deep.equal([{ protocol: 'TCP', port: 'work' }]);
  });

  it('leaves the number of pods to what scales them', () => {
    const kindOf = { HorizontalPodAutoscaler: everything, ScaledObject: byWait };
    for (const [kind, values] of Object.entries(kindOf)) {
      const objects = render(values);
      expect(kinds(objects, kind)).to.have.lengthOf(2);
      for (const { spec } of kinds(objects, 'Deployment')) expect(spec).not.to.have.property('replicas');
    }
    for (const { spec } of kinds(render(byWait), 'ScaledObject')) {
      const { scaleDown } = spec.advanced.horizontalPodAutoscalerConfig.behavior;
      expect(scaleDown.stabilizationWindowSeconds).to.equal(300);
      // Versions of KEDA before 2.18 admit none beside a metric of type Value.
      expect(spec).not.to.have.property('fallback');
    }
  });

  it('hands rules and dashboard on as they are', () => {
    const objects = render(everything);
    expect(kinds(objects, 'PrometheusRule')[0]?.spec.groups).to.be.an('array').that.is.not.empty;
    const dashboard = kinds(objects, 'ConfigMap')[0]?.data?.['helper-gateway.json'];
    expect(dashboard).to.equal(readText('.deploy/chart/files/dashboard.json'));
  });

  it('refuses values that are wrong, and says which', () => {
    const wrong: [object, string][] = [
      [{ gatway: {} }, 'gatway'],
      [{ env: { HELPER_RAET: 1 } }, 'HELPER_RAET'],
      [{ env: { HELPER_DOCS: false } }, 'HELPER_DOCS'],
      [{ env: { DATABASE_URL: 'postgres://x' } }, 'DATABASE_URL'],
      [{ secret: { value: 'x' } }, 'value'],
      [{ gateway: { replicas: '2' } }, 'replicas'],
      [{ gateway: { resources: { limits: { cpu: '2 cores' } } } }, 'cpu'],
      [{ autoscaling: { enabled: true }, keda: { enabled: true } }, 'not'],
      [{ results: { url: '' } }, 'results'],
      [{ results: { existingClaim: 'both' } }, 'results'],
      [{ networkPolicy: { database: { to: [] } } }, 'database'],
      [{ ingress: { enabled: true } }, 'ingress'],
      [{ stopMarginSeconds: 0 }, 'stopMarginSeconds'],
    ];
    for (const [values, word] of wrong) expect(() => render(values), JSON.stringify(values)).to.throw(word);
  });
});
