/** Where a key is had, as far as the visitor can get there. */
export function KeySource({ keySite }: { keySite: string | undefined }) {
  if (keySite === undefined) {
    return <>No key yet? Ask whoever runs this gateway: its first start printed one.</>;
  }
  return (
    <>
      No key yet? Use the one that the gateway’s first start printed, or get one at the{' '}
      <a href={keySite}>key site</a>.
    </>
  );
}
