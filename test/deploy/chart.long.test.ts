import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import ipaddr from 'ipaddr.js';
import { refusedIpv4, refusedIpv6 } from '../../gateway/download/address.js';
import { variables } from '../../schemas/config/config.js';
import { skipWithout } from '../needs.js';
import { type Container, chart, chartNeeds, faultsOf, type KubeObject, lint, render } from './chart.js';

/** Everything that can be switched on beside each other. */
const everything = {
  env: { HELPER_RATE: 40_000_000, HELPER_PROCESSES: 2, HELPER_CONNECT_URL: 'https://keys.example' },
  extraEnv: [{ name: 'TRANSLATE_KEY', valueFrom: { secretKeyRef: { name: 'plugins', key: 'translate' } } }],
  plugins: { configMap: { name: 'plugins', items: [{ key: 'shout.mjs', path: 'text/shout.mjs' }] } },
  autoscaling: { enabled: true },
  imagePullSecrets: [{ name: 'registry' }],
  gateway: {
    podAnnotations: { a: 'b' },
    nodeSelector: { a: 'b' },
    tolerations: [{ key: 'a' }],
    priorityClassName: 'high',
  },
  ingress: {
    enabled: true,
    className: 'nginx',
    apiHost: 'api.example',
    siteHost: 'keys.example',
    tlsSecret: 'tls',
  },
  networkPolicy: {
    apiFrom: [{ podSelector: { matchLabels: { app: 'proxy' } } }],
    siteFrom: [{ podSelector: { matchLabels: { app: 'proxy' } } }],
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
    const missing = chartNeeds();
    if (missing) skipWithout(this, missing);
  });

  for (const [world, values] of Object.entries(worlds)) {
    it(`with ${world} passes helm's strict eye and is of objects that Kubernetes knows`, () => {
      const { status, stdout } = lint(values);
      expect(status, stdout).to.equal(0);
      expect(faultsOf(render(values))).to.equal('');
    });

    it(`with ${world} runs nothing as root, writable or privileged, and renders no secret`, () => {
      const objects = render(values);
      for (const pod of pods(objects)) {
        expect(pod.securityContext).to.include({ runAsNonRoot: true, runAsUser: 65532 });
        expect(pod.securityContext.seccompProfile).to.deep.equal({ type: 'RuntimeDefault' });
        expect(pod.automountServiceAccountToken).to.equal(false);
      }
      for (const { securityContext, resources } of containers(objects)) {
        const wanted = {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        };
        expect(securityContext).to.deep.equal(wanted);
        expect(resources).to.have.all.keys('requests', 'limits');
      }
      expect(kinds(objects, 'Secret')).to.deep.equal([]);
      for (const { env } of containers(kinds(objects, 'Deployment')))
        for (const { name, value } of env)
          if (/SECRET|TOKEN|DATABASE_URL|REDIS_URL|ACCESS_KEY/.test(name))
            expect(value, name).to.equal(undefined);
    });

    it(`with ${world} sets variables that the gateway knows, each once`, () => {
      const known = new Set([...variables.map(({ name }) => name), 'TRANSLATE_KEY']);
      for (const { env } of containers(kinds(render(values), 'Deployment'))) {
        const names = env.map(({ name }) => name);
        expect(names.filter((name) => !known.has(name))).to.deep.equal([]);
        expect(names).to.have.lengthOf(new Set(names).size);
      }
    });
  }

  it('names the image, the ports and the folders as the image itself does', () => {
    const dockerfile = readFileSync(join(chart, '../../.build/Dockerfile'), 'utf8');
    const objects = kinds(render(), 'Deployment');
    expect(dockerfile).to.include('USER 65532:65532').and.to.include('HELPER_DATA_DIR=/data');
    expect(
      objects.flatMap((object) => podOf(object).containers[0].ports).map((port) => port.containerPort),
    ).to.have.members(/^EXPOSE (.+)$/m.exec(dockerfile)?.[1]?.split(' ').map(Number) as number[]);
    expect(containers(objects).map(({ args }) => args)).to.deep.equal([['serve'], ['work']]);
  });

  it('takes an image by its digest where one is given', () => {
    const digest = `sha256:${'0a'.repeat(32)}`;
    const images = (values: object) =>
      containers(kinds(render(values), 'Deployment')).map(({ image }) => image);
    expect(images({ image: { tag: '3' } })).to.deep.equal(['helper-gateway:3', 'helper-gateway:3']);
    expect(images({ image: { tag: '3', digest } })).to.deep.equal([
      `helper-gateway@${digest}`,
      `helper-gateway@${digest}`,
    ]);
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
    expect([threads('1500m'), threads(4), threads('500m'), threads('4', 3)]).to.deep.equal([
      '2',
      '4',
      '1',
      '2',
    ]);
    const own = named(render({ env: { HELPER_POOL_THREADS: 7 } }), 'gateway');
    expect(settingOf(own, 'HELPER_POOL_THREADS')).to.equal('7');
  });

  it('lets the gateways take jobs where there are no workers', () => {
    expect(settingOf(named(render(), 'gateway'), 'HELPER_JOBS')).to.equal('off');
    expect(settingOf(named(render(shared), 'gateway'), 'HELPER_JOBS')).to.equal('on');
  });

  it('writes numbers as people do', () => {
    expect(settingOf(named(render(everything), 'gateway'), 'HELPER_RATE')).to.equal('40000000');
  });

  it("lets https out to public addresses alone: to none that the gateway's guard refuses", () => {
    for (const { spec } of kinds(render(everything), 'NetworkPolicy')) {
      expect(spec.policyTypes).to.deep.equal(['Ingress', 'Egress']);
      const blocks = spec.egress.filter((rule: { ports: { port: number }[] }) =>
        rule.ports.some(({ port }) => port === 443),
      );
      expect(blocks).to.have.lengthOf(1);
      const [ipv4, ipv6] = blocks[0].to.map((peer: { ipBlock: { except: string[] } }) => peer.ipBlock);
      expect(ipv4).to.deep.equal({ cidr: '0.0.0.0/0', except: Object.keys(refusedIpv4) });
      expect(ipv6).to.deep.equal({ cidr: '2000::/3', except: Object.keys(refusedIpv6) });
      for (const address of [
        '169.254.169.254',
        '10.1.2.3',
        '172.31.0.1',
        '192.168.1.1',
        '100.100.100.200',
        '127.0.0.1',
      ])
        expect(
          ipv4.except.some((block: string) => ipaddr.parse(address).match(ipaddr.parseCIDR(block))),
          address,
        ).to.equal(true);
      for (const { to } of spec.egress) expect(to).to.be.an('array').that.is.not.empty;
    }
  });

  it('lets in who calls the API, and to the site and the metrics only who is named', () => {
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
      expect(kinds(objects, 'Deployment').map(({ spec }) => spec.replicas)).to.deep.equal([
        undefined,
        undefined,
      ]);
    }
    for (const { spec } of kinds(render(byWait), 'ScaledObject')) {
      expect(
        spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds,
      ).to.equal(300);
      // Versions of KEDA before 2.18 admit none beside a metric of type Value.
      expect(spec).not.to.have.property('fallback');
    }
  });

  it('hands rules and dashboard on as they are', () => {
    const objects = render(everything);
    expect(kinds(objects, 'PrometheusRule')[0]?.spec.groups).to.be.an('array').that.is.not.empty;
    const dashboard = kinds(objects, 'ConfigMap')[0]?.data?.['helper-gateway.json'];
    expect(dashboard).to.equal(readFileSync(join(chart, 'files/dashboard.json'), 'utf8'));
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
