import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { NavLink } from './document.js';
import { ViewContext } from './view.js';

/** The head of every page of one tenant: its name, and the ways to its other pages. */
export function TenantFrame({ name, children }: { name: string; children: ComponentChildren }) {
  const { visitor } = useContext(ViewContext);
  const base = `/tenants/${name}`;
  return (
    <>
      {visitor?.operator && (
        <p class="crumbs">
          <a href="/tenants">Tenants</a> /
        </p>
      )}
      <h1>{name}</h1>
      <nav class="tabs" aria-label={`Tenant ${name}`}>
        <NavLink href={base} within={`${base}/keys`}>
          Keys
        </NavLink>
        <NavLink href={`${base}/usage`}>Usage</NavLink>
        <NavLink href={`${base}/jobs`}>Jobs</NavLink>
        <NavLink href={`${base}/webhooks`}>Webhooks</NavLink>
        {visitor?.operator && (
          <>
            <NavLink href={`${base}/limits`}>Limits</NavLink>
            <NavLink href={`${base}/members`}>Members</NavLink>
            <NavLink href={`${base}/audit`}>Audit</NavLink>
          </>
        )}
      </nav>
      {children}
    </>
  );
}
