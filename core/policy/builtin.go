package policy

// builtin returns the layer that every policy has unless it is bare. It holds what no run needs and what would let a run
// change the rules it runs under.
func builtin() Layer {
	return Layer{Name: BuiltinLayer, Rules: []Rule{
		{Act: Read, Effect: Deny, Match: secrets()},
		{Act: Write, Effect: Deny, Match: secrets()},
		{Act: Write, Effect: Deny, Match: []string{
			// Hooks, configuration, attributes, commondir, worktrees, modules, todo lists of a rebase: what Git executes from
			// its directory is no closed list, and nobody writes there by hand.
			".git",
			".tillerman.toml",
		}},
	}}
}

// secrets lists the files where tools keep credentials, by the names they are documented under.
func secrets() []string {
	return []string{
		".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx",
		"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "id_ed25519_sk", "id_ecdsa_sk", ".ssh", ".gnupg",
		".netrc", "_netrc", ".git-credentials", "**/.config/git/credentials", ".pgpass", ".my.cnf", ".htpasswd", ".vault-token",
		// Clouds.
		"**/.aws/credentials", "**/.aws/config", "**/.aws/sso", "**/.aws/cli/cache", ".boto", ".s3cfg",
		"**/.config/gcloud", "application_default_credentials.json", ".azure", "**/.oci/config",
		"**/.config/doctl", "**/.config/hcloud", ".databrickscfg", "**/.config/rclone/rclone.conf",
		// Clusters, registries, forges, package indexes.
		"**/.kube/config", "**/.docker/config.json", ".dockercfg", "**/.config/containers/auth.json",
		".npmrc", ".yarnrc.yml", ".pypirc", "**/.gem/credentials", "**/.cargo/credentials", "**/.cargo/credentials.toml",
		"**/.m2/settings.xml", "**/.m2/settings-security.xml", "**/.composer/auth.json",
		"**/.config/gh/hosts.yml", "**/.config/glab-cli/config.yml", "**/.config/hub",
		".terraformrc", "**/.terraform.d/credentials.tfrc.json",
	}
}
