# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Manual pages from what parse.pl read.
use strict;
use warnings;

my $here = __FILE__ =~ m{^(.*)/} ? $1 : '.';
require "$here/words.pl";

# Errors of which a description needs to say no more.
my %plain = (
	ENOMEM => 'no memory is left',
	EACCES => 'permission is denied',
	EMFILE => 'the process has no descriptor left',
	ECHILD => 'the process is a child of that which made the context',
	EINVAL => 'an argument is not valid',
);

sub page_names {
	my ($api) = @_;

	return (sort(keys %{$api->{functions}}), 'vpeer_reasons', 'vpeer_types');
}

sub heading {
	my ($name, $about, $date) = @_;

	return ".\\\" SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n" .
		".Dd $date\n.Dt " . uc($name) . " 3\n.Os\n.Sh NAME\n.Nm $name\n.Nd " .
		join(' ', map { $_ eq '-' ? '\\-' : $_ } split ' ', $about) . "\n.Sh LIBRARY\nvpeer library\n" .
		".Pq libvpeer , Fl lvpeer\n.Sh SYNOPSIS\n.In vpeer/vpeer.h\n";
}

sub about {
	my ($item) = @_;

	return $item->{doc}{head} =~ s/^.*? - //r;
}

# Values of an enum, or constants of a pattern such as VPEER_REG_*.
sub constants {
	my ($api, $name) = @_;
	my $pattern = $name =~ s/\*$//r;

	return @{$api->{enums}{$name}{values}} if $api->{enums}{$name};
	return grep { $_->{name} =~ /^\Q$pattern\E[A-Z]/ && $_->{value} =~ /1U/ } @{$api->{defines}};
}

sub constant_list {
	my ($own, @values) = @_;

	return tagged($own, map { ["Dv $_->{name}" . ($_->{value} =~ /^\d+$/ ? " Pq $_->{value}" : ''),
				   $_->{text}] } @values);
}

# Structures that the caller sees into, other than those that every page would have.
sub structs_of {
	my ($api, $function) = @_;
	my %seen = (vpeer_error => 1, vpeer_pci_address => 1);

	return () if $function->{name} =~ /_free$/;
	return map { $api->{structs}{$_} } grep { $api->{structs}{$_} && !$seen{$_}++ }
		map { $_->{declaration} =~ /\bstruct (\w+)/g } @{$function->{arguments}};
}

# usage: constants_of(API, TEXT) (names of enums and patterns in the text that are to be listed)
sub constants_of {
	my ($api, $text) = @_;
	my %seen = (vpeer_reason => 1, vpeer_reg_reason => 1);
	my @names = ($text =~ s/VPEER_ROUTE_BIT\b/enum vpeer_route/gr) =~ /\benum (vpeer_\w+)|\b(VPEER_[A-Z_]+_\*)/g;

	return grep { constants($api, $_) } grep { defined && !$seen{$_}++ } @names;
}

sub struct_text {
	my ($struct) = @_;
	my $doc = $struct->{doc};

	return join ' ', (map { $_->{text} } @{$doc->{arguments}}), @{$doc->{paragraphs}};
}

sub struct_block {
	my ($struct, $own) = @_;
	my @members = grep { $_->{name} ne 'reserved' } @{$struct->{doc}{arguments}};

	return literal($struct->{declaration}) .
		tagged($own, map { ["Va $_->{name}", $_->{text}] } @members) .
		join('', map { ".Pp\n" . prose($_, $own) } @{$struct->{doc}{paragraphs}});
}

# One item of a description of what is returned: codes, and when.
sub error_items {
	my ($name, $part) = @_;
	my ($codes, $when) = $part =~ m{^(-E[A-Z0-9]+(?:/-E[A-Z0-9]+)*)[,;]? ?(.*)$}s;

	return map {
		my $said = $when ne '' ? $when : $plain{$_};
		defined $said or die "$name(): when it returns -$_ is not said\n";
		["Er $_", $said];
	} $codes =~ /-(E[A-Z0-9]+)/g;
}

# What is returned as prose, and the errors as a list.
sub returns {
	my ($function) = @_;
	my $name = $function->{name};
	my ($first, $more) = $function->{doc}{return} =~ /^(.*?(?:\.|$))(?: (?=[A-Z])(.*))?$/s;
	my $joined = $first =~ s/\.$//r =~ s{(-E[A-Z0-9]+) or (?=-E)}{$1/}gr;
	my ($before, @parts) = split /(?:^|[,;]? or |[,;] )(?=-E[A-Z0-9])/, $joined;
	my ($rest, @errors);

	return (prose($function->{doc}{return}, $name), '') if !@parts;
	for my $part (@parts) {
		$rest = $1 if $part =~ s/[,;]? or ((?:another|an|the) errno\b.*)$//;
		push @errors, error_items($name, $part);
	}
	$before =~ s/;$//;
	$before .= ', or a negative errno value' . (defined $rest ? ": one of those below, or $rest" : '') . '.';
	$before .= " $more" if defined $more;
	return (prose($before, $name), ".Sh ERRORS\n" . tagged($name, @errors));
}

sub see_also {
	my ($api, $name, $text) = @_;
	my %seen = (libvpeer => 1);

	$seen{$1} = 1 while $text =~ /^\.Xr (vpeer_\w+) 3/mg;
	for my $other (values %{$api->{functions}}) {
		$seen{$other->{name}} = 1
			if join(' ', @{$other->{doc}{paragraphs}}, $other->{doc}{return} // '',
				map { $_->{text} } @{$other->{doc}{arguments}}) =~ /\b\Q$name\E\(\)/;
	}
	$seen{vpeer_types} = 1 if $text =~ /vpeer_(error|pci_address)/;
	$seen{vpeer_reasons} = 1 if $text =~ /vpeer_(reg_)?reason\b|vpeer_error/;
	delete $seen{$name};
	my @names = sort keys %seen;
	return ".Sh SEE ALSO\n" . join(" ,\n", map { ".Xr $_ 3" } @names) . "\n";
}

sub function_page {
	my ($api, $function, $date) = @_;
	my ($name, $doc) = @$function{'name', 'doc'};
	my @structs = structs_of($api, $function);
	my @names = constants_of($api, join ' ', (map { $_->{text} } @{$doc->{arguments}}),
				 @{$doc->{paragraphs}}, $doc->{return} // '', map { struct_text($_) } @structs);
	my $out = heading($name, about($function), $date) . ".Ft $function->{type}\n.Fn $name" .
		join('', map { " \"$_->{declaration}\"" } @{$function->{arguments}}) . "\n.Sh DESCRIPTION\n" .
		join(".Pp\n", (map { prose($_, $name) } @{$doc->{paragraphs}}),
		     "The arguments are:\n" . tagged($name, map { ["Fa $_->{name}", $_->{text}] } @{$doc->{arguments}}));

	$out .= ".Ss Structures\n" . join('', map { struct_block($_, $name) } @structs) if @structs;
	$out .= ".Ss Constants\n" . join('', map { constant_list($name, constants($api, $_)) } @names)
		if @names;
	if ($function->{type} ne 'void') {
		my ($return, $errors) = returns($function);
		$doc->{example} and $return .= ".Sh EXAMPLES\n" . literal($doc->{example});
		$out .= ".Sh RETURN VALUES\n$return$errors";
	}
	return $out . see_also($api, $name, $out);
}

# Reasons of one enum: their comments start with the errno, if that is always the same.
sub reasons_page {
	my ($api, $date) = @_;
	my $out = heading('vpeer_reasons', 'why calls are refused', $date) . ".Sh DESCRIPTION\n" .
		prose('The member reason of struct vpeer_error, and of the structures of the module, is one ' .
		      'of these numbers, which are stable. vpeer_reason_name() gives its name: the symbol ' .
		      'without VPEER_REASON_, in small letters and with hyphens; vpeer_reason_text() and ' .
		      'vpeer_reason_remedy() what it means and what mends it, vpeer_reason_mender() who can.',
		      '');

	for my $part (['The module refuses', 'vpeer_reason'], ['The library refuses', 'vpeer_reg_reason'],
		      ['Who mends it', 'vpeer_mender']) {
		$out .= ".Ss $part->[0]\n.Vt enum $part->[1] :\n" .
			constant_list('', map { { %$_, text => $_->{text} || 'no reason' } }
				      @{$api->{enums}{$part->[1]}{values}});
	}
	return $out . see_also($api, 'vpeer_reasons', $out);
}

sub types_page {
	my ($api, $date) = @_;
	my $out = heading('vpeer_types', 'structures and enumerations of libvpeer', $date) . ".Sh DESCRIPTION\n";

	for my $name (@{$api->{structs_order}}) {
		my $struct = $api->{structs}{$name};
		$out .= ".Ss struct $name: " . about($struct) . "\n" . struct_block($struct, '');
	}
	for my $name (grep { !/reason$|mender$/ } @{$api->{enum_order}}) {
		my $enum = $api->{enums}{$name};
		$out .= ".Ss enum $name\n" . prose($enum->{about}, '') . constant_list('', @{$enum->{values}});
	}
	return $out . see_also($api, 'vpeer_types', $out);
}

sub make_page {
	my ($api, $name, $date) = @_;

	return reasons_page($api, $date) if $name eq 'vpeer_reasons';
	return types_page($api, $date) if $name eq 'vpeer_types';
	return function_page($api, $api->{functions}{$name}, $date);
}

1;
