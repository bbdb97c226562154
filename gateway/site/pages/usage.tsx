import { dayMs, dayOf } from '../../usage/day.js';
import { type OfTenant, tenant } from '../doors.js';
import type { UsageRow } from '../options.js';
import type { PageAnswer, PageRequest } from '../page.js';
import { get, type PageRoute } from '../route.js';
import { UsageChart } from './chart.js';
import { bytes, count, duration, Empty, Table } from './elements.js';
import { TenantFrame } from './tenant-frame.js';

const spans = [7, 30, 90] as const;
/** As many rows as are read; the JSON API pages through more. */
const mostRows = 5_000;
const rowsShown = 60;

export const usagePages: PageRoute[] = [get(tenant, '/tenants/:tenant/usage', usagePage)];

async function usagePage(call: PageRequest & OfTenant): Promise<PageAnswer> {
  const { site, query } = call;
  const { id, name } = call.tenant;
  const span = spans.find((days) => String(days) === query.get('days')) ?? 30;
  const all = query.get('rows') === 'all';
  const days = lastDays(site.now(), span);
  const [from, to] = [days[0], days.at(-1)];
  const { rows, next } = await site.usage(id, { ...(from && { from }), ...(to && { to }), limit: mostRows });
  return {
    title: `Usage of ${name}`,
    body: (
      <TenantFrame name={name}>
        <div class="heading">
          <h2>Usage</h2>
          <nav class="spans" aria-label="Days shown">
            {spans.map((days) => (
              <a
                key={days}
                href={`/tenants/${name}/usage?days=${days}`}
                aria-current={days === span ? 'true' : undefined}
              >
                {days} days
              </a>
            ))}
          </nav>
        </div>
        {rows.length === 0 ? (
          <Empty title={`No calls in the last ${span} days`}>
            <p>
              Issue a key under <a href={`/tenants/${name}`}>Keys</a> and make a call with it: it shows here
              within five seconds.
            </p>
          </Empty>
        ) : (
          <>
            <Sums rows={rows} />
            <UsageChart rows={rows} days={days} />
            <UsageTable tenant={name} rows={all ? rows : rows.slice(0, rowsShown)} />
            {!all && rows.length > rowsShown && (
              <p>
                <a href={`/tenants/${name}/usage?days=${span}&rows=all`}>
                  Show all {count(rows.length)} rows
                </a>
              </p>
            )}
            {next && (
              <p class="quiet">There are more rows than {count(mostRows)}; the JSON API has all of them.</p>
            )}
          </>
        )}
      </TenantFrame>
    ),
  };
}

function Sums({ rows }: { rows: readonly UsageRow[] }) {
  const sum = (field: 'calls' | 'errors' | 'bytes_in' | 'bytes_out' | 'cpu_ms') =>
    rows.reduce((total, row) => total + row[field], 0);
  return (
    <dl class="stats">
      <div>
        <dt>Calls</dt>
        <dd>{count(sum('calls'))}</dd>
      </div>
      <div>
        <dt>Errors</dt>
        <dd>{count(sum('errors'))}</dd>
      </div>
      <div>
        <dt>In</dt>
        <dd>{bytes(sum('bytes_in'))}</dd>
      </div>
      <div>
        <dt>Out</dt>
        <dd>{bytes(sum('bytes_out'))}</dd>
      </div>
      <div>
        <dt>CPU time</dt>
        <dd>{duration(sum('cpu_ms'))}</dd>
      </div>
    </dl>
  );
}

function UsageTable({ tenant, rows }: { tenant: string; rows: readonly UsageRow[] }) {
  const heads = ['Calls', 'Errors', 'In', 'Out', 'CPU time'];
  return (
    <Table
      label={`Usage of ${tenant} by day, helper and key`}
      head={
        <>
          <th scope="col">Day (UTC)</th>
          <th scope="col">Helper</th>
          <th scope="col">Key</th>
          {heads.map((head) => (
            <th scope="col" class="number" key={head}>
              {head}
            </th>
          ))}
        </>
      }
    >
      {rows.map((row) => (
        <tr key={`${row.day} ${row.key} ${row.service}`}>
          <td>{row.day}</td>
          <td>{row.service}</td>
          <td>
            <a href={`/tenants/${tenant}/keys/${row.key}`}>
              <code>{row.key}</code>
            </a>
          </td>
          <td class="number">{count(row.calls)}</td>
          <td class="number">{count(row.errors)}</td>
          <td class="number">{bytes(row.bytes_in)}</td>
          <td class="number">{bytes(row.bytes_out)}</td>
          <td class="number">{duration(row.cpu_ms)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The last `count` UTC days, today included, oldest first. */
function lastDays(now: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(now - (count - 1 - index) * dayMs));
}
